import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverSigner } from '../../../../contract/payments/recoverSigner.ts'
import { readSignature } from '../../../../contract/payments/signature.ts'

const KEY = '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'

test('recovers the signer of a digest, and returns undefined for a signature without a key', async () => {
  const account = privateKeyToAccount(KEY)
  const digest = `0x${'11'.repeat(32)}` as const
  const signature = readSignature(await account.sign({ hash: digest }))
  assert.ok(signature.kind === 'key')
  assert.equal(recoverSigner(digest, signature), account.address.toLowerCase())
  // No point of the curve has this x coordinate.
  assert.equal(
    recoverSigner(digest, { ...signature, bytes: `0x${'05'.padStart(64, '0')}${signature.bytes.slice(66)}` }),
    undefined,
  )
})

test('names the missing package if the platform has no native code', () => {
  const url = new URL('../../../../contract/payments/recoverSigner.js', import.meta.url)
  const script = `import(${JSON.stringify(url.href)}).then((m) => m.loadSecp256k1()).catch((e) => console.log(e.message))`
  const env = { ...process.env, PREBUILDS_ONLY: '1', npm_config_arch: 'none' }
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    env,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  })
  assert.match(String(stdout), /native code of the package secp256k1.*npm rebuild secp256k1/)
})
