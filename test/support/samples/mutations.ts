import { rounds } from '../rounds.ts'

/** The seed of a run: of SLUICE_FUZZ_SEED, or a new one. */
export const newSeed = (): number => Number(process.env['SLUICE_FUZZ_SEED'] ?? Date.now() % 2 ** 31)

/** Random numbers that a seed repeats: mulberry32, each from 0 to below 1. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Stands in JSON text for a number as it is written, which JSON.stringify would change. */
const RAW = '\u0001raw:'
const raw = (text: string): string => RAW + text
const RAW_TEXT = /"\\u0001raw:([^"]*)"/g

const PROTOTYPE_NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'then',
  'toJSON',
]
const nested = (levels: number, open: string, close: string) =>
  JSON.parse(open.repeat(levels) + close.repeat(levels)) as unknown
const own = (name: string, value: unknown): object =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as object

const ODD: readonly unknown[] = [
  null,
  true,
  false,
  '',
  ' ',
  '0',
  'x',
  '\u0000',
  '\ud800',
  'a\udc00b',
  '\u2028',
  '😀',
  'null',
  'auto',
  0,
  1,
  -1,
  2,
  0.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e21,
  Number.MAX_VALUE,
  5e-324,
  ...['-0', '1e400', '-1e400', '1E+2', '123456789012345678901234567890', '0.1e-400'].map(raw),
  [],
  {},
  [[]],
  [{}],
  [null],
  [1],
  [''],
  ['a', 1],
  { type: null },
  { type: {} },
  { type: [] },
  { type: '' },
  ...PROTOTYPE_NAMES.flatMap((name) => [
    name,
    own(name, 1),
    own(name, {}),
    { type: name },
    { type: own(name, 1) },
    { role: name },
  ]),
  nested(20, '[', ']'),
  nested(120, '[', ']'),
  nested(200, '[', ']'),
  nested(60, '[[', ']]'),
  'x'.repeat(5_000),
  '\ud800'.repeat(300),
  'ü'.repeat(2_000),
  `data:image/png;base64,${'A'.repeat(400)}`,
  'data:',
  'https://',
  'http://[::',
  'https://127.0.0.1/',
  'javascript:1',
  'https://example.com/a b',
  'text',
  'image',
  'image_url',
  'function',
  'tool',
  'user',
  'assistant',
  'json_schema',
  'tool_result',
  'base64',
]

/** No text can be made of it, and what is added to it throws. */
const NO_TEXT = { toString: 1, valueOf: 1 }
const NO_TEXTS = [NO_TEXT, [NO_TEXT], { type: NO_TEXT }, [{ type: NO_TEXT }]].slice(0, rounds({ short: 1, long: 4 }))

type Parent = Record<string, unknown> | unknown[]

/** The JSON text of a sound body with each of its values in turn, at every depth, replaced by what no text can be made of. */
export function* withoutTexts(sound: string): Generator<string> {
  const body = JSON.parse(sound) as Parent
  const places: [Parent, string][] = []
  collect(body, places)
  for (const [parent, name] of places) {
    const value: unknown = Reflect.get(parent, name)
    for (const odd of NO_TEXTS) {
      put(parent, name, odd)
      yield JSON.stringify(body)
    }
    put(parent, name, value)
  }
}

/** Makes broken requests out of sound ones. */
export class Mutator {
  private readonly random: () => number

  /** @param random as of `seededRandom` */
  constructor(random: () => number) {
    this.random = random
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T
  }

  /**
   * The JSON text of a sound body with a few places changed: values of other types, names of prototypes, nesting, odd numbers and characters,
   * members left out, put in or swapped; now and then bytes that are no JSON.
   */
  mutate(sound: string): Buffer {
    const body: unknown = JSON.parse(sound)
    for (let changes = 1 + Math.floor(this.random() * 3); changes > 0; changes--) this.change(body as Parent)
    const text = JSON.stringify(body)
    const bytes = Buffer.from(text.includes('raw:') ? text.replaceAll(RAW_TEXT, '$1') : text)
    if (this.random() < 0.03) bytes[Math.floor(this.random() * bytes.length)] = Math.floor(this.random() * 256)
    return bytes
  }

  private odd(): unknown {
    return copy(this.pick(ODD))
  }

  private change(root: Parent): void {
    const places: [Parent, string][] = []
    collect(root, places)
    const [parent, name] = this.pick(places)
    const what = this.random()
    if (what < 0.6) put(parent, name, this.odd())
    else if (what < 0.72) remove(parent, name)
    else if (what < 0.84) put(parent, this.pick(PROTOTYPE_NAMES), this.odd())
    else {
      const [other, otherName] = this.pick(places)
      put(parent, name, copy(Reflect.get(other, otherName)))
    }
  }
}

function copy(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? JSON.parse(JSON.stringify(value)) : value
}

function collect(parent: Parent, places: [Parent, string][]): void {
  for (const [name, value] of Object.entries(parent)) {
    places.push([parent, name])
    if (typeof value === 'object' && value !== null) collect(value as Parent, places)
  }
  if (places.length === 0) places.push([parent, '0'])
}

// A plain assignment to __proto__ would change the prototype, and the text would not have the member.
function put(parent: Parent, name: string, value: unknown): void {
  if (Array.isArray(parent) && !/^\d+$/.test(name)) parent.push(value)
  else Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true })
}

function remove(parent: Parent, name: string): void {
  if (Array.isArray(parent)) parent.splice(Number(name), 1)
  else Reflect.deleteProperty(parent, name)
}
