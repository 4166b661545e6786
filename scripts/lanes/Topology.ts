/** The nodes of an ibsim topology file, which is also what `ibnetdiscover` prints. */
export interface Topology {
  readonly hosts: ReadonlyArray<string>
  readonly switches: ReadonlyArray<string>
}

/** Reads the node lines, such as `Hca 1 "host-alpha"`. The name in the first quotes is the one that programs join as. */
export const parseTopology = (text: string): Topology => {
  const names = (kind: RegExp): ReadonlyArray<string> =>
    text.split("\n").flatMap((line) => {
      const [, nodeKind, name] = /^\s*(\w+)\s+\d+\s+"([^"]+)"/.exec(line) ?? []
      return nodeKind !== undefined && name !== undefined && kind.test(nodeKind) ? [name] : []
    })
  return { hosts: names(/^(hca|ca)$/i), switches: names(/^switch$/i) }
}
