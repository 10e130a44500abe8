import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { leafText } from '../../../../../control/book/usagelog/leafText.ts'
import { projectRoot } from '../../../../../control/launch/paths.ts'

test("the receipt's place in the log that README.md shows has the layout of the log and proves itself", () => {
  const readme = readFileSync(join(projectRoot, 'README.md'), 'utf8')
  const [, example = ''] = /"log":(\{[^}]*\})/.exec(readme) ?? []
  const log = JSON.parse(example) as { entry: string; leaf: string; root: string; proof: string[] }
  const [, requestId = '', status = '', model = '', endpoint = '', ...rest] = log.entry.split('\n')
  const [sheetVersion = 0, chargeUnits = 0, inputTokens = 0, ...more] = rest.map(Number)
  const [cachedInputTokens = 0, cacheWrite5mTokens = 0, cacheWrite1hTokens = 0, outputTokens = 0] = more
  const [reasoningTokens = 0, quantity = 0, unit = '', usageSource = '', heldAtMs = 0] = rest.slice(7)
  const written = leafText({
    requestId,
    status,
    model,
    endpoint,
    sheetVersion,
    chargeUnits,
    inputTokens,
    cachedInputTokens,
    cacheWrite5mTokens,
    cacheWrite1hTokens,
    outputTokens,
    reasoningTokens: Number(reasoningTokens),
    quantity: Number(quantity),
    unit,
    usageSource,
    heldAtMs: Number(heldAtMs),
  })
  assert.equal(written, log.entry)
  const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex')
  assert.equal(sha256(Buffer.of(0), Buffer.from(log.entry)), log.leaf)
  const siblings = log.proof.map((hex) => Buffer.from(hex, 'hex'))
  assert.equal(sha256(Buffer.of(1), Buffer.from(log.leaf, 'hex'), ...siblings), log.root)
})
