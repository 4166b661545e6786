/** A queue whose both ends cost the same, however long it is: a ring of a power of two, which grows. Empty it is nothing. */
export class Deque<A> {
  private items: Array<A | undefined> = []
  private head = 0
  length = 0

  push(item: A): void {
    if (this.length === this.items.length) this.grow()
    this.items[(this.head + this.length++) & (this.items.length - 1)] = item
  }

  peek(): A | undefined {
    return this.items[this.head]
  }

  /** The one so many behind the first. */
  at(index: number): A | undefined {
    return index < this.length ? this.items[(this.head + index) & (this.items.length - 1)] : undefined
  }

  shift(): A | undefined {
    if (this.length === 0) return undefined
    const item = this.items[this.head]
    this.items[this.head] = undefined
    this.head = (this.head + 1) & (this.items.length - 1)
    this.length--
    return item
  }

  clear(): void {
    this.items.fill(undefined)
    this.length = 0
  }

  /** Drops those that are not to be kept. */
  retain(isKept: (item: A) => boolean): void {
    for (let left = this.length; left > 0; left--) {
      const item = this.shift()
      if (item !== undefined && isKept(item)) this.push(item)
    }
  }

  private grow(): void {
    const { items } = this
    this.items = emptyOf<A>(Math.max(16, items.length * 2))
    for (let index = 0; index < this.length; index++) {
      this.items[index] = items[(this.head + index) & (items.length - 1)]
    }
    this.head = 0
  }
}

// -----------------------------------------------------------------------------
// internal
// -----------------------------------------------------------------------------

const emptyOf = <A>(length: number): Array<A | undefined> => Array.from({ length }, () => undefined)
