import assert from 'node:assert/strict'
import test from 'node:test'
import { checkpointText, headText } from '../../../control/book/checkpoint/checkpointText.ts'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { type Evidence, verify } from '../../../verifier/verify.ts'
import { referenceConsistency, referenceRoot } from '../../support/referenceTree.ts'
import { FIELDS, LOG_KEY, loggedEntry, ORIGIN, provedReceipt, SHEET } from '../../support/samples/provedReceipt.ts'
import { TestWitness } from '../../support/testWitness.ts'

const KEY = LOG_KEY.verifier()

/** The steps that fail, with their reasons. */
async function failures(evidence: Partial<Evidence>): Promise<[name: string, reason: string][]> {
  const { ok, steps } = await verify({ receipt: provedReceipt(FIELDS).text, sheet: SHEET, key: KEY, ...evidence })
  const failed = steps.flatMap(({ name, result, reason }): [string, string][] =>
    result === 'failed' ? [[name, reason]] : [],
  )
  assert.equal(ok, failed.length === 0)
  return failed
}

async function assertFails(evidence: Partial<Evidence>, step: string, reason: RegExp): Promise<void> {
  const failed = await failures(evidence)
  assert.deepEqual(
    failed.map(([name]) => name),
    [step],
  )
  assert.match(failed[0]?.[1] ?? '', reason)
}

test('a receipt verifies, alone and within a file with its sheet', async () => {
  assert.deepEqual(await failures({}), [])
  const { text } = provedReceipt(FIELDS)
  const { steps } = await verify({ receipt: `{"receipt":${text},"sheet":${SHEET}}` })
  assert.deepEqual(
    steps.map(({ name, result }) => `${name} ${result}`),
    [
      'receipt ok',
      'sheet ok',
      'charge ok',
      'amounts ok',
      'entry ok',
      'leaf ok',
      'log ok',
      'head ok',
      'signature skipped',
    ],
  )
})

test('inconsistent signed data is detected, each time by one step', async () => {
  const entry = loggedEntry(FIELDS)
  const receipt = (cheating: Parameters<typeof provedReceipt>[1]) => ({ receipt: provedReceipt(FIELDS, cheating).text })
  await assertFails(receipt({ entry: `${entry}\n` }), 'entry', /the entry has 27 lines/)
  await assertFails(receipt({ entry: entry.replace('/2\n', '/5\n') }), 'entry', /a layout of a later version/)
  await assertFails(
    receipt({ entry: entry.replace('\n20000\n', '\n20001\n') }),
    'entry',
    /line 7 of the entry is "20001"/,
  )
  await assertFails(receipt({ leaf: leafHash('another') }), 'leaf', /not the hash of the entry/)
  const head = headText(7, { size: 3, root: leafHash('x') })
  await assertFails(receipt({ headEntry: head }), 'head', /not that of log 7 with 2 receipts/)
  await assertFails(receipt({ size: 4 }), 'head', /the proof is for 3 heads, not 4/)
})

test('a receipt that is in no checkpoint yet is reported as such', async () => {
  const { text } = provedReceipt(FIELDS)
  const { log, ...rest } = JSON.parse(text) as { log: object }
  const receipt = JSON.stringify({ ...rest, log: { ...log, head: null, checkpoint: null } })
  await assertFails({ receipt }, 'head', /in no checkpoint yet/)
})

test('another checkpoint must be of the same log and contain this one, or be contained in it', async () => {
  const { heads } = provedReceipt(FIELDS)
  const grown = [...heads, leafHash('head 3\n'), leafHash('head 4\n')]
  const noteOf = (leaves: readonly Buffer[], key = LOG_KEY, origin = key.name) =>
    key.sign(checkpointText(origin, { size: leaves.length, root: referenceRoot(leaves) }))
  const proofOf = (from: number, to: number, leaves: readonly Buffer[] = grown) => {
    const proof = referenceConsistency(from, leaves.slice(0, to)).map((hash) => hash.toString('hex'))
    return JSON.stringify({ from, to, proof })
  }
  assert.deepEqual(await failures({ checkpoint: noteOf(grown), consistency: proofOf(3, 5) }), [])
  assert.deepEqual(await failures({ checkpoint: noteOf(grown.slice(0, 2)), consistency: proofOf(2, 3) }), [])
  assert.deepEqual(await failures({ checkpoint: noteOf(heads) }), [])
  const forked = [leafHash('other'), ...grown.slice(1)]
  const other = NoteKey.of(generateNoteKey(ORIGIN))
  for (const [evidence, step, reason] of [
    [
      { checkpoint: noteOf(forked), consistency: proofOf(3, 5, forked) },
      'consistency',
      /5 heads do not begin with the 3/,
    ],
    [{ checkpoint: noteOf(forked.slice(0, 3)) }, 'consistency', /two checkpoints of 3 heads have different roots/],
    [{ checkpoint: noteOf(grown) }, 'consistency', /consistency\?from=3&to=5/],
    [{ checkpoint: noteOf(grown), consistency: proofOf(2, 5) }, 'consistency', /from 2 to 5 heads, not 3 to 5/],
    [{ checkpoint: noteOf(grown), consistency: '{' }, 'consistency', /the proof is not JSON/],
    [{ checkpoint: noteOf(grown, other), consistency: proofOf(3, 5) }, 'signature', /has not signed/],
    [{ checkpoint: 'x' }, 'other', /no signed note/],
  ] as const) {
    await assertFails(evidence, step, reason)
  }
  const named = noteOf(grown, LOG_KEY.named('elsewhere.example.com'))
  const without = { key: undefined, checkpoint: named, consistency: proofOf(3, 5) } as Partial<Evidence>
  await assertFails(without, 'consistency', /of gateway\.example\.com\/v1\/log and elsewhere/)
})

test('any other value given as a receipt fails with a reason', async () => {
  for (const receipt of ['', '{', 'null', '[]', '{}', '{"receipt":1}', '{"object":"receipt"}', '"x"']) {
    const { ok, steps } = await verify({ receipt, sheet: SHEET, key: KEY })
    assert.deepEqual([ok, steps.map(({ name, result }) => `${name} ${result}`)], [false, ['receipt failed']], receipt)
  }
  await assertFails({ sheet: '{"version":"1"}' }, 'sheet', /sheet has no coin/)
  await assertFails({ sheet: 'x' }, 'receipt', /the sheet is not JSON/)
  await assertFails({ key: 'x' }, 'key', /NAME\+ID\+KEY/)
})

test('configured witnesses must have cosigned the checkpoint of the receipt', async () => {
  const witness = new TestWitness('witness.example.com')
  const { text } = provedReceipt(FIELDS)
  const json = JSON.parse(text) as { log: { checkpoint: string } }
  json.log.checkpoint += witness.line(json.log.checkpoint)
  const witnesses = [witness.verifier]
  assert.deepEqual(await failures({ receipt: JSON.stringify(json), witnesses }), [])
  await assertFails({ witnesses }, 'witness', /has not cosigned/)
  await assertFails({ witnesses: [KEY] }, 'witness', /not one of a witness/)
})
