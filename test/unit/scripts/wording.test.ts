// Goal: forms of the list are found in Markdown and in comments, with their line, and nowhere else.
import assert from 'node:assert/strict'
import { test } from 'node:test'

interface Wording {
  readonly WORDING: readonly (readonly [pattern: RegExp, instead: string])[]
  wordingFaults(name: string, text: string): string[]
}

const wording: Wording = await import(new URL('../../../../scripts/wording.mjs', import.meta.url).href)

/** For each row of the list a text that has its form once. */
const PLANTED = [
  'The answer is sent at once.',
  'It can not be used.',
  'The listener hears nothing then.',
  'The log tells of it.',
  'The client is told.',
  'The rest is what is left.',
  'It is read as far as it goes.',
  'The time from one look to another.',
  'Seconds from one to the next.',
  'It waits in vain.',
  'The first reading behind midnight.',
  'The loop has its turn.',
  'What the provider sends is kept.',
]

/** Texts that no row forbids. */
const SOUND = [
  'What is a hold? Who pays?',
  'It charges what the provider reported.',
  'At one time, once more; it cannot wait. It can not only wait but retry.',
  'The proxy is behind a load balancer.',
]

test('every row of the list finds its planted form, and says what to write', () => {
  assert.equal(PLANTED.length, wording.WORDING.length)
  PLANTED.forEach((text, row) => {
    const [fault = '', ...others] = wording.wordingFaults('a.md', `# A page\n\n${text}\n`)
    assert.ok(fault.startsWith('a.md:3: "'), `${text} gives ${fault}`)
    assert.ok(fault.endsWith(`write ${wording.WORDING[row]?.[1]}`), fault)
    assert.deepEqual(others, [], text)
  })
})

test('a form is found in comments of each language, also over the end of a line', () => {
  const sources: readonly (readonly [name: string, text: string, line: number])[] = [
    ['a.ts', 'const a = 1\n// It runs at once.\n', 2],
    ['a.ts', 'const a = 1 // It runs at once.\n', 1],
    ['a.ts', '/**\n * It runs at\n * once.\n */\n', 2],
    ['a.mjs', '/** What it does. */\nconst a = 1\n', 1],
    ['a.proto', 'message A {} // It can not grow.\n', 1],
    ['a.lua', 'local a = 1\n-- It runs at once.\n', 2],
    ['a.md', 'It runs at\nonce.\n', 1],
    ['a.md', '| a | What it is |\n', 1],
  ]
  for (const [name, text, line] of sources) {
    const faults = wording.wordingFaults(name, text)
    assert.equal(faults.length, 1, text)
    assert.ok(faults[0]?.startsWith(`${name}:${line}: `), `${text} gives ${faults[0]}`)
  }
})

test('code, headings and sound sentences are left alone', () => {
  for (const text of SOUND) assert.deepEqual(wording.wordingFaults('a.md', `${text}\n`), [], text)
  const pages = ['# What is stored\n', '```\nat once\n```\n', '`at once` is a text.\n', '    at once\n']
  for (const text of pages) assert.deepEqual(wording.wordingFaults('a.md', text), [], text)
  const code = ["const a = 'at once'\n", 'atOnce(a)\n', 'const what = 1\n', "const url = 'https://at once'\n"]
  for (const text of code) assert.deepEqual(wording.wordingFaults('a.ts', text), [], text)
})
