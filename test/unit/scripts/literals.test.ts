import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { projectRoot } from '../../../control/launch/paths.ts'

interface Literals {
  literalsOf(source: string): { readonly text: string }[]
}

const { literalsOf }: Literals = await import(pathToFileURL(join(projectRoot, 'scripts/literals.mjs')).href)

const SLOT = '\u0001'
const OPEN = '$'.concat('{')

/** A case begins substitutions by $<, so that it is no template itself. */
const CASES: ReadonlyArray<readonly [source: string, ...literals: string[]]> = [
  [`a('one', "two")`, 'one', 'two'],
  ['`one $<two} three`', `one ${SLOT} three`],
  ["`one $<two ? `and $<three('four')}` : ''} five`", 'four', `and ${SLOT}`, '', `one ${SLOT} five`],
  ['`$<{ a: { b } }} x`', `${SLOT} x`],
  [String.raw`'it\'s' + "\\"`, String.raw`it\'s`, String.raw`\\`],
  ['`a \\$<one} \\` b`', 'a \\$<one} \\` b'],
  ["// it's\nx('one') /* don't `do` */ + 'two'", 'one', 'two'],
  ["const p = /[/'\"`]/g\nx('one')", 'one'],
  [String.raw`return /\/'/.test(a) ? 'one' : b / c / 'two'`, 'one', 'two'],
  ["x = a / b; y = 'one' / 2", 'one'],
]

for (const [source, ...literals] of CASES) {
  test(source, () => {
    assert.deepEqual(
      literalsOf(source.replaceAll('$<', OPEN)).map(({ text }) => text.replaceAll(OPEN, '$<')),
      literals,
    )
  })
}
