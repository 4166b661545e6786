/**
 * Prints a topology file of ibsim: a tree of two levels made of switches with 36 ports, of which each leaf has as many hosts as
 * it is told and one cable to every spine.
 */
const [leaves = 0, spines = 0, hosts = 0] = process.argv.slice(2).map(Number)

if (
  ![leaves, spines, hosts].every((count) => Number.isInteger(count) && count >= 1) || leaves > 36 || spines + hosts > 36
) {
  process.stderr.write("usage: fatTree.ts LEAVES SPINES HOSTS-OF-EACH-LEAF, where a switch has 36 ports\n")
  process.exit(2)
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const lines: Array<string> = []

for (const leaf of numbers(leaves)) {
  lines.push(`Switch 36 "leaf-${leaf}"`)
  for (const host of numbers(hosts)) lines.push(`[${host}] "host-${leaf}-${host}"[1]`)
  for (const spine of numbers(spines)) lines.push(`[${hosts + spine}] "spine-${spine}"[${leaf}]`)
  lines.push("")
  for (const host of numbers(hosts)) lines.push(`Hca 1 "host-${leaf}-${host}"`, `[1] "leaf-${leaf}"[${host}]`, "")
}

for (const spine of numbers(spines)) {
  lines.push(`Switch 36 "spine-${spine}"`)
  for (const leaf of numbers(leaves)) lines.push(`[${leaf}] "leaf-${leaf}"[${hosts + spine}]`)
  lines.push("")
}

process.stdout.write(lines.join("\n"))
