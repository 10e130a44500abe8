// Goal: the unit of a limit is the one that its comment names. Method: every table of limits is read as text.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CONTRACT_LIMITS } from '../../../../contract/limits/limits.ts'
import { unitOf } from '../../../../contract/limits/unitOf.ts'
import { CONTROL_LIMITS } from '../../../../control/limits.ts'
import { PROXY_LIMITS } from '../../../../proxy/limits.ts'

const root = fileURLToPath(new URL('../../../../../', import.meta.url))
const ENTRY = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(\w+):\s*[^/\n]*,/g
/** Units as comments name them, where they differ. */
const SYNONYMS: Readonly<Record<string, string>> = { 'UTF-16 code units': 'characters' }
const NAMED =
  /\bin (milliseconds|seconds|minutes|bytes|characters|UTF-16 code units|pixels|levels|units of 1e-9 USD|micro-tokens|tokens|gwei|gas|blocks|basis points|percent)\b/

function commentsOf(): Map<string, string> {
  const tables = ['contract/limits', 'proxy', 'control'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /(^|\/)\w*[lL]imits\.ts$/.test(path))
      .map((path) => readFileSync(join(root, folder, path), 'utf8')),
  )
  const found = tables.flatMap((text) => [...text.matchAll(ENTRY)])
  return new Map(found.map(([, comment = '', name = '']) => [name, comment.replace(/\s*\n\s*\*\s*/g, ' ')]))
}

test('a limit is in the unit that its comment names', () => {
  const comments = commentsOf()
  for (const name of Object.keys({ ...CONTRACT_LIMITS, ...PROXY_LIMITS, ...CONTROL_LIMITS })) {
    const comment = comments.get(name)
    assert.ok(comment !== undefined, name)
    const named = NAMED.exec(comment)?.[1]
    const isRate = unitOf(name).startsWith('units of 1e-9 USD per')
    if (named !== undefined && !isRate) assert.equal(unitOf(name), SYNONYMS[named] ?? named, `${name}: ${comment}`)
  }
})

test('names have the unit at their end, and a number of things has none', () => {
  for (const [name, unit] of [
    ['linkUnitsMin', 'units of 1e-9 USD'],
    ['keyTransferUnitsPerDay', 'units of 1e-9 USD per day'],
    ['referralShareBps', 'basis points'],
    ['imageSideMin', 'pixels'],
    ['imageSideMax', 'pixels'],
    ['videoImageSideMax', 'pixels'],
    ['audioSecondsMax', 'seconds'],
    ['incidentDaysShown', 'days'],
    ['providerRecordDays', 'days'],
    ['lockWithdrawalMicrosMin', 'micro-tokens'],
    ['providerSameAnswerPpm', 'parts per million'],
    ['paymentGasMin', 'gas'],
    ['withdrawalsPerDay', 'per day'],
    ['streamBytesPerTokenMax', 'bytes'],
    ['toolsMax', 'count'],
    ['rewardHashesPerTurn', 'count'],
    ['providerRequestsMin', 'count'],
  ] as const) {
    assert.equal(unitOf(name), unit, name)
  }
})
