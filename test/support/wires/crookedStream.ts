import fc from 'fast-check'
import { chunk, DONE, eventOf } from './wire.ts'

/** What a model says, and the reason why it ends. */
export interface Plan {
  readonly thoughts: string[]
  readonly words: string[]
  readonly calls: readonly PlannedCall[]
  readonly finish: 'stop' | 'length'
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
}

export interface PlannedCall {
  readonly name: string
  readonly input: Record<string, unknown>
}

/** How a provider departs from the documented format. */
export interface Twist {
  readonly index: 'right' | 'from1' | 'text' | 'zero' | 'null' | 'none'
  readonly id: 'given' | 'late' | 'pieces' | 'repeated' | 'empty' | 'none'
  readonly name: 'whole' | 'late' | 'pieces' | 'repeated' | 'emptyFirst'
  readonly arguments: 'pieces' | 'object'
  readonly together: boolean
  readonly text: 'text' | 'parts' | 'mixed'
  readonly thought: string
  readonly reason: 'right' | 'stop' | 'upper' | 'twice' | 'none'
  readonly emptyReasons: boolean
  /** After each chunk comes one with the reason `stop` alone. */
  readonly stopsOften: boolean
  readonly repeatsMessage: boolean
  /** The whole text comes once more, as the last delta. */
  readonly repeatsText: 'never' | 'withReason' | 'before'
  /** The whole reasoning comes once more: where it ends, or with the last delta. */
  readonly repeatsThought: 'never' | 'atEnd' | 'withReason' | 'before'
  readonly usage: 'last' | 'withReason' | 'every'
  readonly between: string
  readonly end: string
  readonly eol: '\n' | '\r\n'
  readonly cuts: readonly number[]
}

const piece = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
const value = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.integer(),
  fc.constant(null),
  fc.constant('{"'),
)
const call = fc.record(
  {
    name: fc.constantFrom('weather', 'search_web', 'mcp__files__read'),
    input: fc.dictionary(fc.constantFrom('city', 'q', 'a"b', 'ü'), value, { maxKeys: 3, noNullPrototype: true }),
  },
  { noNullPrototype: true },
)

export const plans: fc.Arbitrary<Plan> = fc
  .record({
    thoughts: fc.array(piece, { maxLength: 3 }),
    words: fc.array(piece, { maxLength: 4 }),
    calls: fc.array(call, { maxLength: 4 }),
    finish: fc.constantFrom('stop', 'length'),
    usage: fc.record({
      prompt_tokens: fc.integer({ min: 1, max: 9_999 }),
      completion_tokens: fc.integer({ min: 1, max: 9_999 }),
    }),
  })
  .filter(({ words, calls }) => words.length + calls.length > 0) as fc.Arbitrary<Plan>

export const twists: fc.Arbitrary<Twist> = fc
  .record({
    index: fc.constantFrom('right', 'from1', 'text', 'zero', 'null', 'none'),
    id: fc.constantFrom('given', 'late', 'pieces', 'repeated', 'empty', 'none'),
    name: fc.constantFrom('whole', 'late', 'pieces', 'repeated', 'emptyFirst'),
    arguments: fc.constantFrom('pieces', 'object'),
    together: fc.boolean(),
    text: fc.constantFrom('text', 'parts', 'mixed'),
    thought: fc.constantFrom('reasoning_content', 'reasoning', 'thinking', 'reasoning_details', 'parts'),
    reason: fc.constantFrom('right', 'stop', 'upper', 'twice', 'none'),
    emptyReasons: fc.boolean(),
    stopsOften: fc.boolean(),
    repeatsMessage: fc.boolean(),
    repeatsText: fc.constantFrom('never', 'withReason', 'before'),
    repeatsThought: fc.constantFrom('never', 'atEnd', 'withReason', 'before'),
    usage: fc.constantFrom('last', 'withReason', 'every'),
    between: fc.constantFrom('', ': keep-alive\n\n', 'data: null\n\n', 'data:\n\n', 'event: ping\n\n'),
    end: fc.constantFrom(
      DONE,
      'data: [DONE] \n\n',
      'data: "[done]"\n\n',
      'data: [DONE]',
      'data: bye\n\n',
      `data: {"timings":{}}\n\n${DONE}`,
    ),
    eol: fc.constantFrom('\n', '\r\n'),
    cuts: fc.array(fc.nat(20_000), { maxLength: 12 }),
  })
  .map((twist) => decodable(twist as Twist))

// What does not tell one call from the next is no stream that anybody can read.
function decodable(given: Twist): Twist {
  const isNumbered = given.index !== 'zero' && given.index !== 'null' && given.index !== 'none'
  const end = given.reason === 'none' && given.end.startsWith('data: bye') ? DONE : given.end
  const isWhole = given.arguments === 'object'
  // A call of which the reason shows the end has its name and id.
  const isBegunWhole = isWhole || given.stopsOften
  const twist: Twist = { ...given, end, ...(isBegunWhole ? { name: 'whole', id: wholeId(given.id) } : {}) }
  if (isNumbered) return twist
  if (twist.id === 'given' || twist.id === 'repeated') {
    return { ...twist, together: twist.together && twist.name === 'whole' }
  }
  return { ...twist, id: wholeId(twist.id) === 'given' ? 'none' : twist.id, name: 'whole', arguments: 'object' }
}

/** A call in one piece has its id in it. */
function wholeId(id: Twist['id']): Twist['id'] {
  return id === 'late' || id === 'pieces' ? 'given' : id
}

/** The id that the provider gives a call; undefined where it gives none. */
export function idOf(twist: Twist, number: number): string | undefined {
  return twist.id === 'empty' || twist.id === 'none' ? undefined : `call_${number}_x`
}

/** The bytes of the stream in the pieces in which they arrive. */
export function crookedStream(plan: Plan, twist: Twist): Buffer[] {
  const repeated = repeatedDelta(plan, twist, 'before')
  const deltas = [
    ...spoken(plan, twist),
    ...(twist.together ? together(plan, twist) : apart(plan, twist)),
    ...(repeated === null ? [] : [repeated]),
  ]
  const empty = twist.emptyReasons ? '' : null
  const every = twist.usage === 'every' ? { usage: plan.usage } : {}
  const stop = twist.stopsOften ? [chunk({}, twist.reason === 'upper' ? 'STOP' : 'stop')] : []
  const chunks = [
    chunk({ role: 'assistant', content: '' }, empty),
    ...deltas.flatMap((delta) => [chunk(delta, empty, every), ...stop]),
  ]
  return inPieces([...chunks, ...endOf(plan, twist)], twist)
}

/** The bytes of a stream in the pieces in which they arrive. */
export function inPieces(events: readonly string[], twist: Twist): Buffer[] {
  const text = events.map((event) => twist.between + event).join('') + twist.end
  const bytes = Buffer.from(text.replaceAll('\n', twist.eol))
  const cuts = [...new Set(twist.cuts.map((at) => at % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...cuts, bytes.length].map((to, i) => bytes.subarray(i === 0 ? 0 : cuts[i - 1], to))
}

/** The text that is repeated; null where nobody can tell it from more of the text. */
export function repeatedText({ words, calls }: Plan, { text, repeatsText }: Twist): string | null {
  const whole = words.join('')
  if (repeatsText === 'never' || calls.length > 0 || text === 'mixed') return null
  return isTold(words) ? whole : null
}

/** The reasoning that is repeated, likewise. */
function repeatedThought({ thoughts }: Plan, { repeatsThought }: Twist): string | null {
  return repeatsThought !== 'never' && isTold(thoughts) ? thoughts.join('') : null
}

function isTold(pieces: readonly string[]): boolean {
  return pieces.length > 1 && pieces.join('').length >= 8
}

/** The delta that repeats what came before it. */
function repeatedDelta(plan: Plan, twist: Twist, place: 'before' | 'withReason'): object | null {
  const text = twist.repeatsText === place ? repeatedText(plan, twist) : null
  const thought = twist.repeatsThought === place ? repeatedThought(plan, twist) : null
  if (text === null && thought === null) return null
  const words = text === null ? [] : [text]
  const said = spoken(
    { ...plan, words, thoughts: thought === null ? [] : [thought] },
    { ...twist, repeatsThought: 'never' },
  )
  return said.reduce((one, other) => joinedDelta(one, other), {})
}

function joinedDelta(one: { content?: unknown }, other: { content?: unknown }): object {
  const isParts = Array.isArray(one.content) && Array.isArray(other.content)
  return {
    ...one,
    ...other,
    ...(isParts ? { content: [...(one.content as unknown[]), ...(other.content as unknown[])] } : {}),
  }
}

function spoken(plan: Plan, twist: Twist): object[] {
  const { thought, text } = twist
  const again = twist.repeatsThought === 'atEnd' ? repeatedThought(plan, twist) : null
  const thoughts = [...plan.thoughts, ...(again === null ? [] : [again])].map((said) => {
    if (thought === 'parts') return { content: [{ type: 'thinking', thinking: [{ type: 'text', text: said }] }] }
    return { [thought]: thought === 'reasoning_details' ? [{ type: 'reasoning.text', text: said }] : said }
  })
  const words = plan.words.map((said, i) => {
    const isParts = text === 'parts' || (text === 'mixed' && i % 2 === 0)
    return { content: isParts ? [{ type: 'text', text: said }] : said }
  })
  return [...thoughts, ...words]
}

function apart(plan: Plan, twist: Twist): object[] {
  return plan.calls.flatMap((_call, number) => piecesOf(plan, twist, number).map((entry) => ({ tool_calls: [entry] })))
}

/** All calls side by side: their first pieces in one delta, then their second ones. */
function together(plan: Plan, twist: Twist): object[] {
  const isNumbered = twist.index === 'right' || twist.index === 'from1' || twist.index === 'text'
  const all = plan.calls.map((_call, number) => piecesOf(plan, twist, number))
  if (!isNumbered) return all.length === 0 ? [] : [{ tool_calls: all.flat() }]
  const longest = Math.max(0, ...all.map((pieces) => pieces.length))
  return Array.from({ length: longest }, (_, step) => ({
    tool_calls: all.flatMap((pieces) => (pieces[step] === undefined ? [] : [pieces[step]])),
  }))
}

type Said = { id?: string; name?: string; arguments?: unknown }

function piecesOf({ calls }: Plan, twist: Twist, number: number): object[] {
  const { name = '', input = {} } = calls[number] ?? {}
  const id = idOf(twist, number)
  const head = id === undefined ? (twist.id === 'empty' ? { id: '' } : {}) : { id }
  const half = Math.ceil(name.length / 2)
  const names: Said[] =
    twist.name === 'pieces'
      ? [{ name: name.slice(0, half) }, { name: name.slice(half) }]
      : twist.name === 'emptyFirst'
        ? [{ name: '' }, { name }]
        : [{ name }]
  const heads: Said[] = headsOf(twist, head, names)
  const texts = argumentsOf(twist, input)
  const repeated = { ...(twist.id === 'repeated' ? head : {}), ...(twist.name === 'repeated' ? { name } : {}) }
  const said = [...heads, ...texts.map((text) => ({ ...repeated, arguments: text }))]
  const isWhole = twist.arguments === 'object'
  return (isWhole ? [Object.assign({}, ...said) as Said] : said).map((one, i) => entryOf(twist, number, one, i === 0))
}

function headsOf(twist: Twist, head: Said, names: Said[]): Said[] {
  const [first = {}, ...more] = names
  if (twist.id === 'late') return [first, ...more, head]
  if (twist.id === 'pieces' && head.id !== undefined) {
    return [{ id: head.id.slice(0, 4) }, { id: head.id.slice(4) }, first, ...more]
  }
  return twist.name === 'late' ? [head, first, ...more] : [{ ...head, ...first }, ...more]
}

function argumentsOf(twist: Twist, input: Record<string, unknown>): unknown[] {
  if (twist.arguments === 'object') return [Object.keys(input).length === 0 ? '{}' : input]
  const text = JSON.stringify(input)
  const third = Math.ceil(text.length / 3)
  return [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)].filter((part) => part !== '')
}

function entryOf({ index }: Twist, number: number, { id, ...said }: Said, isFirst: boolean): object {
  const numbers = { right: number, from1: number + 1, text: String(number), zero: 0, null: null, none: undefined }
  return {
    ...(index === 'none' ? {} : { index: numbers[index] }),
    ...(id === undefined ? {} : { id }),
    ...(isFirst ? { type: 'function' } : {}),
    function: said,
  }
}

function endOf(plan: Plan, twist: Twist): string[] {
  const reasons = reasonsOf(plan, twist)
  const usage = { usage: plan.usage }
  const last = twist.usage === 'withReason' && reasons.length > 0 ? [] : [eventOf({ choices: [], ...usage })]
  const message = { role: 'assistant', content: plan.words.join(''), reasoning_content: plan.thoughts.join('') }
  const whole = eventOf({ object: 'chat.completion', choices: [{ index: 0, message, finish_reason: null }] })
  const repeats = twist.repeatsMessage && plan.words.length + plan.thoughts.length > 0
  return [
    ...(repeats ? [whole] : []),
    ...reasons.map((reason, i) => {
      const repeated = i === 0 ? repeatedDelta(plan, twist, 'withReason') : null
      return chunk(repeated ?? {}, reason, twist.usage === 'withReason' ? usage : {})
    }),
    ...last,
  ]
}

function reasonsOf({ finish, calls }: Plan, { reason }: Twist): string[] {
  const right = finish === 'stop' && calls.length > 0 ? 'tool_calls' : finish
  if (reason === 'none' && finish === 'stop') return []
  if (reason === 'stop' && finish === 'stop') return ['stop']
  if (reason === 'upper') return [right.toUpperCase()]
  return reason === 'twice' ? [right, finish === 'stop' ? 'stop' : right] : [right]
}
