import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseTransaction, recoverTransactionAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { recoverSigner } from '../../../../../contract/payments/recoverSigner.ts'
import { readSignature } from '../../../../../contract/payments/signature.ts'
import { Signer } from '../../../../../control/onchain/chain/signer.ts'

const KEY = '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318'
const TOKEN = '0x5fbdb2315678afecb367f032d93f642f64180aa3'

test('a signed transaction carries every field and recovers to the sender', async () => {
  const signer = new Signer(KEY)
  const order = { chainId: 31337, nonce: 7, to: TOKEN, data: '0xa9059cbb', gas: 90_000n } as const
  const { raw, hash } = await signer.sign({ ...order, maxFeePerGas: 3_000_000_000n, maxPriorityFeePerGas: 1n })
  const read = parseTransaction(raw)
  assert.deepEqual(
    { chainId: read.chainId, nonce: read.nonce, to: read.to, data: read.data, gas: read.gas },
    { chainId: 31337, nonce: 7, to: TOKEN, data: '0xa9059cbb', gas: 90_000n },
  )
  assert.deepEqual([read.type, read.maxFeePerGas, read.maxPriorityFeePerGas], ['eip1559', 3_000_000_000n, 1n])
  assert.equal(read.value ?? 0n, 0n)
  assert.match(hash, /^0x[0-9a-f]{64}$/)
  const sender = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
  assert.equal(sender.toLowerCase(), signer.address)
})

test('a private key that is not 32 bytes of hex is refused', () => {
  for (const key of ['', '0x', KEY.slice(2), `${KEY}0`, KEY.replace('4c', 'zz')]) {
    assert.throws(() => new Signer(key), /0x and 64 hex digits/)
  }
})

test('recovers the signer of a digest, and nobody for a signature without a key', async () => {
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

test('names the missing package where there is no native code for the platform', () => {
  const url = new URL('../../../../../contract/payments/recoverSigner.js', import.meta.url)
  const script = `import(${JSON.stringify(url.href)}).then((m) => m.loadSecp256k1()).catch((e) => console.log(e.message))`
  const env = { ...process.env, PREBUILDS_ONLY: '1', npm_config_arch: 'none' }
  const { stdout } = spawnSync(process.execPath, ['-e', script], {
    env,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  })
  assert.match(String(stdout), /native code of the package secp256k1.*npm rebuild secp256k1/)
})
