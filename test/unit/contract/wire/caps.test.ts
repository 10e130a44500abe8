// Goal: a code of a script names one cap, and no other code does.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERRORS } from '../../../../contract/errors/errors.ts'
import { SPANS, windowList } from '../../../../contract/money/windows.ts'
import { capCode, metCap } from '../../../../contract/wire/caps.ts'
import { HoldCode, LeaseCode } from '../../../../contract/wire/scripts.ts'

test('every cap has a code of its own', () => {
  const caps = [false, true].flatMap((isPlatforms) => SPANS.map((span) => ({ span, isPlatforms })))
  for (const cap of caps) assert.deepEqual(metCap(capCode(cap)), cap)
  assert.equal(new Set(caps.map(capCode)).size, caps.length)
  for (const code of Object.values({ ...HoldCode, ...LeaseCode })) assert.equal(metCap(code), undefined)
})

test('the error of a cap names every window', () => {
  assert.ok(ERRORS.spend_limit_exceeded.message.includes(`its ${windowList('or')} ends`))
})
