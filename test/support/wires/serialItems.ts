import assert from 'node:assert/strict'

interface Item {
  readonly id: string
  readonly type: string
  readonly content?: readonly Part[]
  readonly summary?: readonly object[]
}

interface Part {
  readonly annotations?: unknown[]
}

interface Event {
  readonly type: string
  readonly sequence_number: number
  readonly output_index: number
  readonly item_id: string
  readonly item: Item
  readonly content_index?: number
  readonly summary_index?: number
  readonly delta: string
  readonly annotation?: unknown
  readonly response: { readonly output: readonly Item[] }
}

/** Members that hold the whole of what deltas brought. */
const WHOLES = ['text', 'refusal', 'arguments', 'input'] as const

/** The item that a client is being told of: what its deltas brought, by the place in the item. */
interface Open {
  readonly index: number
  readonly id: string
  readonly said: Map<string, string>
  readonly ended: Set<string>
}

/**
 * Checks what OpenAI's own streams of responses keep to, and clients rely on: items come one after the other, each is done
 * before the next one is added, its deltas make up what its last events say, and the response has just these items, with the
 * citations that came behind them. A text that is no such stream is passed over.
 */
export function assertSerialItems(stream: string): void {
  if (!stream.startsWith('event: response.created\n')) return
  const check = new ItemCheck()
  for (const line of stream.split('\n')) {
    if (line.startsWith('data: {')) check.take(JSON.parse(line.slice(6)) as Event)
  }
}

/** A `fetch` for official clients that checks the streams which they get. */
export async function checkedFetch(url: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init)
  const text = await response.text()
  assertSerialItems(text)
  return new Response(text, response)
}

class ItemCheck {
  private sequence = 0
  private open: Open | null = null
  private readonly done: Item[] = []

  take(event: Event): void {
    const { type } = event
    assert.equal(event.sequence_number, this.sequence++)
    if (type === 'response.output_item.added') this.add(event)
    else if (type === 'response.output_item.done') this.end(event)
    else if (this.open?.index !== event.output_index && event.annotation !== undefined) this.cite(event)
    else if (event.output_index !== undefined) this.fill(event)
    else if (/completed|incomplete|failed/.test(type)) this.close(event)
  }

  private add({ output_index: index, item }: Event): void {
    assert.equal(this.open, null, `item ${index} is added while another is open`)
    assert.equal(index, this.done.length)
    this.open = { index, id: item.id, said: new Map(), ended: new Set() }
  }

  private current({ type, output_index: index }: Event, id: string): Open {
    assert.ok(this.open !== null, `${type} of an item that is not open`)
    assert.deepEqual([index, id], [this.open.index, this.open.id])
    return this.open
  }

  private fill(event: Event): void {
    const { said, ended } = this.current(event, event.item_id)
    const place = String(event.content_index ?? event.summary_index ?? '')
    if (event.type.endsWith('.delta')) {
      assert.ok(!ended.has(place), `${event.type} behind its end`)
      said.set(place, (said.get(place) ?? '') + event.delta)
      return
    }
    const whole = wholeIn(event)
    if (whole === undefined) return
    assert.equal(whole, said.get(place))
    ended.add(place)
  }

  private cite({ output_index: index, content_index: place = 0, annotation }: Event): void {
    const { annotations } = this.done[index]?.content?.[place] ?? {}
    assert.ok(annotations !== undefined, 'a citation of no text')
    annotations.push(annotation)
  }

  private end(event: Event): void {
    const { item } = event
    const { said, ended } = this.current(event, item.id)
    assert.deepEqual([...ended], [...said.keys()])
    const parts = item.content ?? item.summary
    for (const [place, text] of said) assert.equal(wholeIn(parts?.[Number(place)] ?? item), text)
    this.done.push(item)
    this.open = null
  }

  private close({ type, response: { output } }: Event): void {
    if (type !== 'response.failed') assert.equal(this.open, null)
    assert.deepEqual(output.slice(0, this.done.length), this.done)
    assert.equal(output.length, this.done.length + (this.open === null ? 0 : 1))
  }
}

function wholeIn(value: object): unknown {
  const [name] = WHOLES.filter((member) => Object.hasOwn(value, member))
  return name === undefined ? undefined : Reflect.get(value, name)
}
