import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceiptFields } from '../../../contract/money/receipt.ts'
import { tagsHash } from '../../../control/book/receipt/tagsHash.ts'
import { verify } from '../../../verifier/verify.ts'
import { FIELDS, LOG_KEY, provedReceipt } from '../../support/samples/provedReceipt.ts'

const tagging = { user: 'alice%40example.com', tags: 'a%2Cb=%C3%A4,team=search', salt: 'salt' }
const hash = tagsHash(tagging)
const tagged: ReceiptFields = { ...FIELDS, tagging: { ...tagging, hash } }

const tagStep = async (text: string) => {
  const report = await verify({ receipt: text, key: LOG_KEY.verifier() })
  return { ok: report.ok, step: report.steps.find(({ name }) => name === 'tags') }
}

test('the verifier shows the user and the tags, and proves them', async () => {
  const { ok, step } = await tagStep(provedReceipt(tagged).text)
  assert.ok(ok)
  assert.match(JSON.stringify(step), /user alice@example\.com, tags a,b=ä, team=search/)
  const untold = await tagStep(provedReceipt({ ...FIELDS, tagging: { hash } }).text)
  assert.ok(untold.ok)
  assert.match(JSON.stringify(untold.step), /the hash of its tags alone/)
  assert.equal((await tagStep(provedReceipt(FIELDS).text)).step, undefined)
})

test('the verifier refuses a receipt with another user, other tags, or without them', async () => {
  const { text } = provedReceipt(tagged)
  const changes: [string, string][] = [
    ['"user":"alice@', '"user":"bob@'],
    ['"team":"search"', '"team":"other"'],
    ['"team":"search"', '"tea":"search"'],
    [',"team":"search"', ''],
    ['"tags_salt":"salt"', '"tags_salt":"pepper"'],
    [`"tags_hash":"${hash}"`, `"tags_hash":"${'0'.repeat(64)}"`],
    [`,"tags_hash":"${hash}"`, ''],
    ['"tags":{', '"labels":{'],
    ['"team":"search"', '"team":1'],
  ]
  for (const [from, to] of changes) {
    assert.ok(text.includes(from), from)
    assert.equal((await tagStep(text.replace(from, to))).ok, false, `${from} ${to}`)
  }
})
