import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureByTurns, resultLine, startsLine } from '../../../../bench/compare/turns.ts'

test('two builds are measured in turns, and each is first in every second pair', async () => {
  const order: string[] = []
  const build = (name: string, micros: number) => async () => {
    order.push(name)
    return micros
  }
  const pairs = await measureByTurns(3, build('mine', 10), build('other', 20))
  assert.equal(order.join(' '), 'mine other other mine mine other')
  assert.deepEqual(pairs, Array(3).fill({ mine: 10, other: 20 }))
})

test('the line of a case has the medians and lowest tenths of both builds and the quartiles of their ratios', () => {
  const pairs = [1, 2, 3, 4, 5].map((mine) => ({ mine, other: 2 }))
  const line = resultLine('small', pairs)
  assert.match(
    line,
    /^small +3\.0 us against 2\.0 us; ratios of 5 pairs, quartiles: 1\.000, 1\.500, 2\.000; lowest tenths 1\.0 us against 2\.0 us, 0\.500$/,
  )
})

test('starts of both builds count as one ratio each, however many pairs they have', () => {
  const slow = Array(9).fill({ mine: 4, other: 2 })
  const line = startsLine('small', [slow, [{ mine: 1, other: 2 }], [{ mine: 2, other: 2 }]])
  assert.match(
    line,
    /^small +3 starts; geometric mean 1\.000; least, quartiles and most: 0\.500, 0\.500, 1\.000, 1\.000, 2\.000; of lowest tenths: geometric mean 1\.000; least, quartiles and most: 0\.500, 0\.500, 1\.000, 1\.000, 2\.000$/,
  )
})
