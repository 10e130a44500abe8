// Goal: a secret is read as it is or not at all, whatever stands where it should be; nothing blocks the reader or ends its
// process. Method: files of every kind, and records of both forms.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { NO_QUOTA } from '../../../../contract/catalog/quota.ts'
import { firstSecret, listedKeys, readSecret } from '../../../../contract/providers/providerKeys.ts'
import { makeTempDir, removeTempDir } from '../../../support/tempDir.ts'

const dir = makeTempDir('keys')
after(() => removeTempDir(dir))

const place = (name: string): string => join(dir, name)
const fileSecret = (name: string) => readSecret({ env: '', file: place(name) }, {})

const CONTENTS: [string, string | Buffer, string, string][] = [
  ['plain', 'sk-1', 'sk-1', ''],
  ['with a line end', 'sk-1\r\n', 'sk-1', ''],
  ['empty', '\n', '', 'empty'],
  ['of two lines', 'sk-1\nx-more: 1', '', 'not a key on one line'],
  ['with a space', 'sk 1', '', 'not a key on one line'],
  ['with other bytes', Buffer.from([0x73, 0xe9, 0x00]), '', 'not a key on one line'],
  ['too long', 'k'.repeat(16_385), '', 'too long'],
]

for (const [name, content, text, fault] of CONTENTS) {
  test(`a file ${name} reads as ${text === '' ? fault : text}`, () => {
    writeFileSync(place(name), content)
    assert.deepEqual(fileSecret(name), { text, fault })
  })
}

test('what is no file is not waited for', () => {
  mkdirSync(place('folder'))
  execFileSync('mkfifo', [place('pipe')])
  symlinkSync(place('nowhere'), place('dangling'))
  assert.equal(fileSecret('folder').text, '')
  assert.deepEqual(fileSecret('pipe'), { text: '', fault: 'not a file' })
  assert.deepEqual(fileSecret('dangling'), { text: '', fault: 'ENOENT' })
})

test('a variable is read without the spaces around it', () => {
  const read = (env: string) => readSecret({ env, file: '' }, { SET: ' sk-1 ', EMPTY: ' ' })
  assert.deepEqual([read('SET').text, read('EMPTY').fault, read('UNSET').fault], ['sk-1', 'not set', 'not set'])
})

test('api_key_env is a list of one key, and an empty one is no key', () => {
  assert.deepEqual(listedKeys({ apiKeyEnv: 'A' }), [
    { id: 'default', env: 'A', file: '', weight: 1, models: [], ...NO_QUOTA },
  ])
  assert.deepEqual(listedKeys({ apiKeyEnv: '' }), [])
})

test('a service that needs one key has the first that can be read and serves the model', () => {
  writeFileSync(place('last'), 'sk-last')
  const keys = [
    { id: 'a', env: 'UNSET', weight: 1 },
    { id: 'b', env: 'B', weight: 1, models: ['small'] },
    { id: 'c', file: place('last'), weight: 1 },
  ]
  const first = (model?: string) => firstSecret({ apiKeyEnv: 'B', keys }, { B: 'sk-b' }, model)
  assert.deepEqual([first(), first('small'), first('large')], ['sk-b', 'sk-b', 'sk-last'])
  assert.equal(firstSecret({ apiKeyEnv: 'UNSET' }, {}), undefined)
  assert.equal(firstSecret({ apiKeyEnv: '' }, {}), '')
})
