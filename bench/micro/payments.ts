import assert from 'node:assert/strict'
import type { Bench } from 'tinybench'
import { recoverTypedDataAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Eip3009Payment } from '../../contract/payments/signedPayment.ts'
import { EIP3009_TYPES, paymentDigest } from '../../contract/payments/typedData.ts'
import { PaymentVerifier } from '../../proxy/payments/verifier.ts'
import { WorkerPool } from '../../workers/pool.ts'
import { run as verifyPayments } from '../../workers/verifyPayments.ts'

const HOP_BATCH = 32
/** A public test key. */
const KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'

async function signedPayment(): Promise<Eip3009Payment> {
  const payer = privateKeyToAccount(KEY)
  const message = {
    from: payer.address.toLowerCase() as `0x${string}`,
    to: `0x${'3c'.repeat(20)}` as const,
    value: 10_000n,
    validAfter: 0n,
    validBefore: 1_893_456_000n,
    nonce: `0x${'11'.repeat(32)}` as const,
  }
  const token = { chainId: 31_337, token: `0x${'5f'.repeat(20)}` as const, name: 'USD Coin', version: '2' }
  const unsigned = { method: 'eip3009' as const, ...token, ...message, signature: '0x' as const }
  return { ...unsigned, signature: await payer.sign({ hash: paymentDigest(unsigned) }) }
}

/**
 * Adds the checks of a payment's signature: in this thread, with only viem, and in a worker thread.
 * @returns a function that ends the threads
 */
export async function addPayments(bench: Bench): Promise<() => Promise<void>> {
  const payment = await signedPayment()
  assert.equal(verifyPayments([{ payment }])[0]?.kind, 'signed')
  bench.add('payment: digest (viem)', () => {
    paymentDigest(payment)
  })
  bench.add('payment: signature (native)', () => {
    verifyPayments([{ payment }])
  })
  const { name, version, chainId, token, from, to, value, validAfter, validBefore, nonce, signature } = payment
  const byViem = () =>
    recoverTypedDataAddress({
      domain: { name, version, chainId, verifyingContract: token },
      types: EIP3009_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: { from, to, value, validAfter, validBefore, nonce },
      signature,
    })
  assert.equal((await byViem()).toLowerCase(), from)
  bench.add('payment: signature (viem)', byViem)
  const pool = new WorkerPool({
    taskTimeoutMs: 60_000,
    threadsMax: 1,
    idleTimeoutMs: 60_000,
    queueMax: 1_000,
    onFault: assert.ifError,
  })
  const verifier = new PaymentVerifier(pool, { verifyBatchMax: 64, verifyPendingMax: 1_000 })
  assert.equal((await verifier.verify({ payment })).kind, 'signed')
  bench.add('payment: signature by a thread', async () => {
    await verifier.verify({ payment })
  })
  bench.add(`payment: ${HOP_BATCH} signatures by a thread`, async () => {
    await Promise.all(Array.from({ length: HOP_BATCH }, () => verifier.verify({ payment })))
  })
  return () => pool.close()
}
