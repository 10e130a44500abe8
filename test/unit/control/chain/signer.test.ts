import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTransaction, recoverTransactionAddress } from 'viem'
import { Signer } from '../../../../control/chain/signer.ts'

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

test('a private key that is not 32 bytes of hex is rejected', () => {
  for (const key of ['', '0x', KEY.slice(2), `${KEY}0`, KEY.replace('4c', 'zz')]) {
    assert.throws(() => new Signer(key), /0x and 64 hex digits/)
  }
})
