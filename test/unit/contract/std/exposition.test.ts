// Goal: the text is what a parser of the Prometheus text format reads back. Method: names and values at random, read by a
// small parser of the format's grammar.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Exposition, emptyHistogram, observe } from '../../../../contract/std/exposition.ts'

const UNESCAPED: Readonly<Record<string, string>> = { n: '\n', '\\': '\\', '"': '"' }
const unescaped = (text: string) => text.replace(/\\(.)/g, (_, letter: string) => UNESCAPED[letter] ?? letter)

/** The samples of a text: name, labels, value. */
function samplesOf(text: string): [string, Record<string, string>, number][] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name = '', inside = '', value = ''] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? assert.fail(line)
    const labels = [...inside.matchAll(/([a-z_]+)="((?:[^"\\\n]|\\.)*)"(?:,|$)/g)]
    const read = Object.fromEntries(labels.map(([, label = '', text = '']) => [label, unescaped(text)]))
    return [name, read, Number(value.replace('Inf', 'Infinity'))]
  })
}

test('any label value and any number is read back', () => {
  const value = fc.oneof(fc.double({ noNaN: true }), fc.integer(), fc.constant(Number.POSITIVE_INFINITY))
  const label = fc.oneof(fc.string(), fc.constantFrom('"', '\\', '\n', '\\n', 'a="b",c="d"', '}'))
  fc.assert(
    fc.property(label, label, value, (one, two, number) => {
      const text = new Exposition()
        .family('a_total', 'A', 'counter', ['x', 'y'])
        .sample(number, { x: one, y: two }).text
      assert.deepEqual(samplesOf(text), [['a_total', { x: one, y: two }, number === 0 ? 0 : number]])
    }),
    { examples: [['\\n"', '\n', 0.1]] },
  )
})

test('a family has one line of help and one of its type, also where the help has line ends', () => {
  const out = new Exposition().family('a', 'one\ntwo \\', 'gauge').family('b_total', 'B', 'counter')
  assert.equal(out.text, '# HELP a one\\ntwo \\\\\n# TYPE a gauge\n# HELP b_total B\n# TYPE b_total counter\n')
  assert.deepEqual(
    out.families.map(({ name, type }) => [name, type]),
    [
      ['a', 'gauge'],
      ['b_total', 'counter'],
    ],
  )
})

test('a histogram counts cumulatively, and each value is in the first bucket whose bound it does not exceed', () => {
  const bounds = [0.1, 1, 10]
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(0, 0.1, 1, 10), fc.double({ min: 0, max: 20, noNaN: true }))),
      (values) => {
        const histogram = emptyHistogram(bounds)
        for (const value of values) observe(histogram, bounds, value)
        const read = samplesOf(
          new Exposition().family('h', 'H', 'histogram').histogram(bounds, histogram, { a: 'x' }).text,
        )
        const below = (bound: number) => values.filter((value) => value <= bound).length
        assert.deepEqual(
          read.filter(([name]) => name === 'h_bucket').map(([, labels, count]) => [labels, count]),
          [
            [{ a: 'x', le: '0.1' }, below(0.1)],
            [{ a: 'x', le: '1' }, below(1)],
            [{ a: 'x', le: '10' }, below(10)],
            [{ a: 'x', le: '+Inf' }, values.length],
          ],
        )
        assert.deepEqual(read.at(-1), ['h_count', { a: 'x' }, values.length])
        assert.deepEqual(read.at(-2), ['h_sum', { a: 'x' }, values.reduce((sum, value) => sum + value, 0)])
      },
    ),
  )
})
