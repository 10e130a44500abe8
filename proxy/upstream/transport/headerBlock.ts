import type { Provider } from '../../catalog/pricedItem.ts'

/** Headers of requests to a provider: names and values that do not change with the request. */
export class HeaderBlock {
  /** Name, value, name, value. */
  readonly list: readonly string[]
  /** The same as text of a request head. */
  readonly text: string

  constructor(list: readonly string[]) {
    this.list = list
    let text = ''
    for (let i = 0; i + 1 < list.length; i += 2) text += `${list[i]}: ${list[i + 1]}\r\n`
    this.text = text
  }
}

const kept = new WeakMap<Provider, Map<string, HeaderBlock>>()

/** The headers of all requests to a provider with a JSON body and the same Accept header; they are built once. */
export function jsonHeaders(provider: Provider, accept: string, make: () => readonly string[]): HeaderBlock {
  let blocks = kept.get(provider)
  if (blocks === undefined) {
    blocks = new Map()
    kept.set(provider, blocks)
  }
  let block = blocks.get(accept)
  if (block === undefined) {
    block = new HeaderBlock(make())
    blocks.set(accept, block)
  }
  return block
}
