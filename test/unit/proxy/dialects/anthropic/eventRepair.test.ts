// Goal: whatever a provider leaves out of the events of a message or writes otherwise, clients get the message that it meant,
// in events of documented form; events of that form are left as they are. Method: random messages, written with random
// faults, read back by strict rules.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../../../contract/std/jsonObject.ts'
import { EventRepair } from '../../../../../proxy/dialects/anthropic/eventRepair.ts'
import { present } from '../../../../support/present.ts'

interface Block {
  readonly type: 'text' | 'thinking' | 'tool_use'
  readonly text: string
  readonly pieces: number
}

/** The faults of a provider. */
interface Faults {
  readonly start: 'whole' | 'none' | 'bare' | 'twice'
  readonly numbers: 'right' | 'zero' | 'none' | 'from 3'
  readonly ids: 'own' | 'none' | 'same'
  readonly input: 'deltas' | 'object' | 'text'
  readonly beginsTexts: boolean
  readonly ends: boolean
  readonly typesDeltas: boolean
  readonly reason: unknown
  readonly hasUsage: boolean
  readonly hasSequence: boolean
}

const NO_FAULTS: Faults = {
  start: 'whole',
  numbers: 'right',
  ids: 'own',
  input: 'deltas',
  beginsTexts: true,
  ends: true,
  typesDeltas: true,
  reason: 'end_turn',
  hasUsage: true,
  hasSequence: true,
}
const USAGE = { input_tokens: 3, output_tokens: 2 }
const INPUT = { city: 'Oslo', deep: [{ a: 1 }] }
const PIECE_NAMES = { text: 'text', thinking: 'thinking', tool_use: 'partial_json' } as const
const DELTA_TYPES = { text: 'text_delta', thinking: 'thinking_delta', tool_use: 'input_json_delta' } as const

const blocks = fc.array(
  fc.record({
    type: fc.constantFrom('text' as const, 'thinking' as const, 'tool_use' as const),
    text: fc.string({ minLength: 1, maxLength: 12 }),
    pieces: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 5 },
)
const faults: fc.Arbitrary<Faults> = fc.record({
  start: fc.constantFrom('whole', 'none', 'bare', 'twice'),
  numbers: fc.constantFrom('right', 'zero', 'none', 'from 3'),
  ids: fc.constantFrom('own', 'none', 'same'),
  input: fc.constantFrom('deltas', 'object', 'text'),
  beginsTexts: fc.boolean(),
  ends: fc.boolean(),
  typesDeltas: fc.boolean(),
  reason: fc.constantFrom('end_turn', 'stop', 'tool_use', 'tool_calls', '', null),
  hasUsage: fc.boolean(),
  hasSequence: fc.boolean(),
})

function written(message: readonly Block[], how: Faults): JsonObject[] {
  const events: JsonObject[] = []
  const sequence = how.hasSequence ? { stop_sequence: null } : {}
  const start = { type: 'message_start', message: { id: 'm', content: [], usage: USAGE, ...sequence } }
  if (how.start === 'bare') events.push({ type: 'message_start', message: {} })
  else if (how.start !== 'none') events.push(start)
  if (how.start === 'twice') events.push(start)
  for (const [place, block] of message.entries()) events.push(...blockEvents(block, place, message, how))
  const usage = how.hasUsage ? { usage: USAGE } : {}
  events.push({ type: 'message_delta', delta: { stop_reason: how.reason, ...sequence }, ...usage })
  return events
}

function blockEvents({ type, text, pieces }: Block, place: number, all: readonly Block[], how: Faults): JsonObject[] {
  const numbers = { right: { index: place }, zero: { index: 0 }, none: {}, 'from 3': { index: place + 3 } }
  const number = numbers[how.numbers]
  const isCall = type === 'tool_use'
  const inputs = { deltas: {}, object: INPUT, text: JSON.stringify(INPUT) }
  const id = { own: { id: `toolu_${place}` }, none: {}, same: { id: 'toolu' } }[how.ids]
  const block = isCall ? { type, ...id, name: text, input: inputs[how.input] } : { type, [PIECE_NAMES[type]]: '' }
  // Where the block before has the same number and does not end, only a beginning shows that another one begins.
  const isKnown = how.ends && all[place - 1]?.type !== 'tool_use' && how.numbers === 'right'
  const begin = { type: 'content_block_start', ...number, content_block: block }
  const whole = isCall ? (how.input === 'deltas' ? JSON.stringify(INPUT) : '') : text
  const size = Math.max(1, Math.ceil(whole.length / pieces))
  const parts = [...Array(pieces).keys()].map((i) => whole.slice(i * size, (i + 1) * size))
  const typed = how.typesDeltas ? { type: DELTA_TYPES[type] } : {}
  return [
    ...(isCall || how.beginsTexts || !isKnown ? [begin] : []),
    ...parts.map((part) => ({
      type: 'content_block_delta',
      ...number,
      delta: { ...typed, [PIECE_NAMES[type]]: part },
    })),
    ...(how.ends ? [{ type: 'content_block_stop', ...number }] : []),
  ]
}

/** Reads events as strictly as the documentation has them: the message that they come to. */
function readStrictly(events: readonly JsonObject[]): { blocks: JsonObject[]; reason: unknown } {
  const [first, ...rest] = events
  const start = present(first)['message'] as JsonObject
  assert.equal(present(first)['type'], 'message_start')
  assert.deepEqual(start['content'], [])
  assert.ok(start['usage'] !== undefined && start['stop_sequence'] === null)
  const read: JsonObject[] = []
  const open = new Set<unknown>()
  let reason: unknown = null
  for (const event of rest) {
    const { type, index, content_block: begun, delta } = event
    assert.equal(reason, null, 'nothing follows the reason')
    if (type === 'content_block_start') {
      assert.equal(index, read.length)
      const block = begun as JsonObject
      if (block['type'] === 'tool_use') assert.deepEqual(block['input'], {})
      read.push({ ...block, input: '' })
      open.add(index)
    } else if (type === 'message_delta') {
      assert.equal(open.size, 0)
      assert.ok(event['usage'] !== undefined && (delta as JsonObject)['stop_sequence'] === null)
      reason = (delta as JsonObject)['stop_reason']
    } else {
      assert.ok(open.has(index))
      if (type === 'content_block_stop') open.delete(index)
      else addPiece(present(read[index as number]), delta as JsonObject)
    }
  }
  return { blocks: read, reason }
}

function addPiece(block: JsonObject, delta: JsonObject): void {
  const type = block['type'] as Block['type']
  assert.equal(delta['type'], DELTA_TYPES[type])
  const name = type === 'tool_use' ? 'input' : PIECE_NAMES[type]
  block[name] = String(block[name]) + String(delta[PIECE_NAMES[type]])
}

function repaired(events: readonly JsonObject[]): JsonObject[] {
  const repair = new EventRepair('req_A')
  const out = events.flatMap((event) => repair.read(event) ?? [event])
  assert.equal(repair.broken, false)
  return [...out, ...repair.end()]
}

test('a message with any faults reads as the message that was meant', () => {
  fc.assert(
    fc.property(blocks, faults, (message, how) => {
      const events = repaired(written(message, how)).filter(
        ({ type, delta }) => type !== 'message_delta' || (delta as JsonObject)['stop_reason'] !== null,
      )
      const { blocks: read, reason } = readStrictly(events)
      const calls = message.filter(({ type }) => type === 'tool_use').length
      assert.deepEqual(
        read.map(({ type, name, text, thinking, input }) => [type, name ?? text ?? thinking, input]),
        message.map(({ type, text }) => [type, text, type === 'tool_use' ? JSON.stringify(INPUT) : '']),
      )
      const ids = read.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
      assert.ok(ids.every((id) => typeof id === 'string' && id !== ''))
      assert.equal(new Set(ids).size, calls)
      assert.equal(reason, calls > 0 ? 'tool_use' : 'end_turn')
    }),
    { numRuns: 3_000 },
  )
})

test('events of documented form stay as they are', () => {
  fc.assert(
    fc.property(blocks, (message) => {
      const repair = new EventRepair('req_A')
      const reason = message.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn'
      for (const event of written(message, { ...NO_FAULTS, reason })) assert.equal(repair.read(event), null)
      assert.deepEqual(repair.end(), [])
    }),
    { numRuns: 500 },
  )
})
