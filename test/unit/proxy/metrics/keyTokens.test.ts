import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyTokens } from '../../../../proxy/metrics/keyTokens.ts'
import { type EndedRequest, ModelMetrics } from '../../../../proxy/metrics/modelMetrics.ts'

const NONE = { input: 0, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 0, reasoning: 0 }

function ended(model: string, key: string, usage: Partial<typeof NONE>): EndedRequest {
  return {
    model,
    provider: 'acme',
    key,
    operation: 'chat',
    status: 'ok',
    errorCode: null,
    usage: { ...NONE, ...usage },
    chargedUnits: 1,
    streamed: false,
    durationMs: 1,
    admissionMs: 1,
    firstByteMs: 0,
  }
}

test('tokens of prompts are added up by key, over models, without those of the output', () => {
  const metrics = new ModelMetrics({ metricSeriesMax: 10 })
  metrics.note(ended('m', 'a', { input: 3, cachedInput: 5, output: 100, reasoning: 7 }))
  metrics.note(ended('m', 'a', { input: 1, cacheWrite5m: 2, cacheWrite1h: 4 }))
  metrics.note(ended('n', 'a', { cachedInput: 1 }))
  metrics.note(ended('m', 'b', { input: 9 }))
  metrics.note(ended('m', 'unused', { output: 1 }))
  metrics.note(ended('m', '', { input: 1_000 }))
  assert.deepEqual(keyTokens(metrics.counts), [
    { key: 'acme/a', prompt: 16, cached: 6 },
    { key: 'acme/b', prompt: 9, cached: 0 },
  ])
})

test('beyond the bound of series no key is credited with the tokens of another', () => {
  const metrics = new ModelMetrics({ metricSeriesMax: 1 })
  metrics.note(ended('m', 'a', { input: 3 }))
  metrics.note(ended('m', 'b', { input: 5, cachedInput: 5 }))
  assert.deepEqual(
    keyTokens(metrics.counts).filter(({ key }) => key.startsWith('acme/')),
    [{ key: 'acme/a', prompt: 3, cached: 0 }],
  )
})
