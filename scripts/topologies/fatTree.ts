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

const nodes = [
  ...numbers(leaves).map((leaf) => [
    `Switch 36 "leaf-${leaf}"`,
    ...numbers(hosts).map((host) => `[${host}] "host-${leaf}-${host}"[1]`),
    ...numbers(spines).map((spine) => `[${hosts + spine}] "spine-${spine}"[${leaf}]`)
  ]),
  ...numbers(spines).map((spine) => [
    `Switch 36 "spine-${spine}"`,
    ...numbers(leaves).map((leaf) => `[${leaf}] "leaf-${leaf}"[${hosts + spine}]`)
  ]),
  ...numbers(leaves).flatMap((leaf) =>
    numbers(hosts).map((host) => [`Hca 1 "host-${leaf}-${host}"`, `[1] "leaf-${leaf}"[${host}]`])
  )
]

process.stdout.write(nodes.map((lines) => `${lines.join("\n")}\n`).join("\n"))
