import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointText, headText, parseCheckpoint } from '../../../../../control/book/checkpoint/checkpointText.ts'

// The example of https://c2sp.org/tlog-checkpoint.
const TEXT = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n'
const ROOT = Buffer.from('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=', 'base64')

test('a checkpoint has origin, size and root on separate lines', () => {
  const head = { size: 20_852_163, root: ROOT }
  assert.equal(checkpointText('example.com/behind-the-sofa', head), TEXT)
  assert.deepEqual(parseCheckpoint(TEXT, 'example.com/behind-the-sofa'), head)
})

test('text that is not a checkpoint of the origin is rejected', () => {
  for (const text of [
    TEXT.replace('sofa', 'door'),
    TEXT.replace('\n2', '\n02'),
    TEXT.replace('\n2', '\n-2'),
    TEXT.replace('I=', 'J='),
    TEXT.replace('Cs', ''),
    TEXT.slice(0, -1),
    `${TEXT}more\n`,
    '',
  ]) {
    assert.equal(parseCheckpoint(text, 'example.com/behind-the-sofa'), undefined, JSON.stringify(text))
  }
})

test('the entry of a head has the documented lines', () => {
  const encoded = 'CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I='
  assert.equal(headText(7, { size: 41, root: ROOT }), `sluice-head/1\n7\n41\n${encoded}\n`)
})
