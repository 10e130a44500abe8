// Goal: comparisons are as many and as varied as requests of customers, and nothing in them is common to all.
import assert from 'node:assert/strict'
import test from 'node:test'
import { newComparison } from '../../../../../../control/products/marketplace/serving/comparison.ts'

const COUNT = 5_000
const all = Array.from({ length: COUNT }, () => newComparison({ maxOutput: 1_000, defaultOutput: 700 }))
const share = (has: (one: (typeof all)[number]) => boolean): number => all.filter(has).length / COUNT

test('no two prompts are the same, and they begin and end in many ways', () => {
  const texts = all.map(({ prompt }) => prompt.text)
  assert.ok(new Set(texts).size > 0.99 * COUNT)
  assert.ok(new Set(texts.map((text) => text.slice(0, 12))).size > 100)
  assert.ok(new Set(texts.map((text) => text.slice(-12))).size > 500)
  const lengths = texts.map((text) => text.length).sort((a, b) => a - b)
  assert.ok((lengths[0] ?? 0) < 60 && (lengths.at(-1) ?? 0) > 600, `${lengths[0]} to ${lengths.at(-1)} characters`)
})

test('no word is in most prompts', () => {
  const counts = new Map<string, number>()
  for (const { prompt } of all)
    for (const word of new Set(prompt.text.toLowerCase().match(/[a-z]{4,}/g)))
      counts.set(word, (counts.get(word) ?? 0) + 1)
  const [word, most] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? ['', 0]
  assert.ok(most < 0.6 * COUNT, `${word} is in ${most} of ${COUNT}`)
})

test('streams, limits, temperatures and system messages vary, within what the model has', () => {
  for (const part of [
    share(({ stream }) => stream),
    share(({ temperature }) => temperature === undefined),
    share(({ prompt }) => prompt.system === undefined),
    share(({ maxTokens }) => maxTokens === 700),
    share(({ limitName }) => limitName === 'max_tokens'),
  ])
    assert.ok(part > 0.3 && part < 0.8, `${part}`)
  assert.ok(all.every(({ maxTokens }) => maxTokens > 0 && maxTokens <= 1_000))
  assert.ok(new Set(all.map(({ prompt }) => prompt.task)).size >= 15)
})

test('a model of little output is asked for no more than it has', () => {
  for (let i = 0; i < 100; i++) assert.ok(newComparison({ maxOutput: 100, defaultOutput: 50 }).maxTokens <= 100)
})
