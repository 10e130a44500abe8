import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { x402Facilitator } from '@x402/core/facilitator'
import { encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme } from '@x402/evm/exact/facilitator'
import { parseAddress } from '../../../contract/payments/address.ts'
import { EXACT_PROXY_ADDRESS } from '../../../contract/payments/addresses.ts'
import { isAccepted, paymentFault } from '../../../contract/payments/offerCheck.ts'
import { type PaymentRequirements as Offer, readPaymentHeader } from '../../../contract/payments/x402.ts'
import { devClient } from '../../../control/launch/chain/deploy.ts'
import { PaymentVerifier } from '../../../proxy/payments/verifier.ts'
import { WorkerPool } from '../../../workers/pool.ts'
import { type Payer, startChain, type TestChain } from '../../support/chain.ts'
import { requirementsFor, signPayment } from '../../support/clients/payloads.ts'
import { limits } from '../../support/limits.ts'

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const pool = new WorkerPool({
  taskTimeoutMs: 60_000,
  threadsMax: 2,
  idleTimeoutMs: 1_000,
  queueMax: 100,
  onFault: assert.ifError,
})
const verifier = new PaymentVerifier(pool, limits)
let chain: TestChain
let payer: Payer

before(async () => {
  chain = await startChain()
  payer = await chain.newPayer()
})
after(async () => {
  await Promise.all([chain.stop(), pool.close()])
})

async function theirs(payload: PaymentPayload, requirements: PaymentRequirements): Promise<boolean> {
  const client = devClient(chain.rpcUrl, chain.relayer)
  const signer = toFacilitatorEvmSigner({ ...client, address: chain.relayer.address } as never)
  const facilitator = new x402Facilitator().register(`eip155:${chain.chainId}`, new ExactEvmScheme(signer))
  try {
    return (await facilitator.verify(payload, requirements)).isValid
  } catch {
    return false
  }
}

/** The verdict on all that the gateway checks before it asks the chain; a contract's signature is for the chain to say. */
async function ours(payload: PaymentPayload, requirements: PaymentRequirements): Promise<boolean> {
  const found = readPaymentHeader(encodePaymentSignatureHeader(payload), 100_000)
  if (found === undefined || !isAccepted(found.accepted, requirements as unknown as Offer)) return false
  const fault = paymentFault(
    found.payment,
    {
      network: requirements.network,
      token: parseAddress(requirements.asset) ?? '',
      method: requirements.extra['assetTransferMethod'] === 'permit2' ? 'permit2' : 'eip3009',
      payTo: parseAddress(requirements.payTo) ?? '',
      amountAtomic: BigInt(requirements.amount),
      spender: EXACT_PROXY_ADDRESS,
      // As the reference facilitator has it.
      marginSeconds: 6,
    },
    Math.floor(Date.now() / 1_000),
  )
  return fault === undefined && (await verifier.verify(found)).kind === 'signed'
}

type Members = Record<string, unknown>

/** Every member of an object in turn, changed: texts of digits by one, hex digits by one digit, objects within. */
function mutations(value: Members, path = ''): Array<[where: string, changed: Members]> {
  return Object.entries(value).flatMap(([name, member]): Array<[string, Members]> => {
    const where = path === '' ? name : `${path}.${name}`
    if (typeof member === 'object' && member !== null) {
      return mutations(member as Members, where).map(([at, changed]) => [at, { ...value, [name]: changed }])
    }
    if (typeof member !== 'string') return []
    const other = /^\d+$/.test(member)
      ? (BigInt(member) + 1n).toString()
      : member.replace(/.$/, (c) => (c === '1' ? '2' : '1'))
    return [[where, { ...value, [name]: other }]]
  })
}

async function agree(what: string, payload: PaymentPayload, requirements: PaymentRequirements): Promise<boolean> {
  const [a, b] = [await ours(payload, requirements), await theirs(payload, requirements)]
  assert.equal(a, b, `${what}: the gateway says ${a}, the reference facilitator ${b}`)
  return a
}

function twinOf(signature: string): string {
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

for (const asset of ['stablecoin', 'coin'] as const) {
  test(`${asset}: same verdict as the reference facilitator on valid and mutated payments`, async () => {
    const requirements = requirementsFor(chain, asset, 4_200n)
    const payload = await signPayment(payer, requirements)
    assert.equal(await agree('as signed', payload, requirements), true)
    const changed = mutations(payload.payload)
    assert.ok(changed.length >= 7, `${changed.length} members`)
    for (const [where, members] of changed) {
      assert.equal(await agree(where, { ...payload, payload: members }, requirements), false, where)
    }
  })

  test(`${asset}: same verdict on requirements other than the signed ones`, async () => {
    const signed = requirementsFor(chain, asset, 4_200n)
    const payload = await signPayment(payer, signed)
    const others: Record<string, Partial<PaymentRequirements>> = {
      amount: { amount: '4201' },
      payTo: { payTo: chain.relayer.address },
      network: { network: 'eip155:8453' },
      scheme: { scheme: 'upto' },
      asset: { asset: chain.contracts[asset === 'coin' ? 'stablecoin' : 'coin'] },
    }
    for (const [what, change] of Object.entries(others)) {
      const requirements = { ...signed, ...change }
      assert.equal(await agree(what, payload, requirements), false, what)
      // A client that lies in `accepted` as well changes nothing; the gateway offers no other scheme.
      if (what === 'scheme') continue
      assert.equal(await agree(what, { ...payload, accepted: requirements }, requirements), false, what)
    }
  })

  test(`${asset}: same verdict on validity windows`, async () => {
    for (const maxTimeoutSeconds of [1, 3]) {
      const requirements = requirementsFor(chain, asset, 1n, { maxTimeoutSeconds })
      assert.equal(await agree(`${maxTimeoutSeconds} s`, await signPayment(payer, requirements), requirements), false)
    }
  })

  test(`${asset}: same verdict on the twin with the other s`, async () => {
    const requirements = requirementsFor(chain, asset, 5n)
    const payload = await signPayment(payer, requirements)
    const signature = twinOf(String(payload.payload['signature']))
    const twin = { ...payload, payload: { ...payload.payload, signature } }
    // The token refuses it, Permit2 takes it.
    assert.equal(await agree('twin', twin, requirements), asset === 'coin')
  })
}

test('pending verifications are bounded, and one more is rejected with payments_busy', async () => {
  const narrow = new PaymentVerifier(pool, { verifyBatchMax: 2, verifyPendingMax: 5 })
  const requirements = requirementsFor(chain, 'stablecoin', 1n)
  const found = readPaymentHeader(encodePaymentSignatureHeader(await signPayment(payer, requirements)), 100_000)
  assert.ok(found)
  const waiting = Array.from({ length: 5 }, () => narrow.verify(found))
  await assert.rejects(narrow.verify(found), { code: 'payments_busy', status: 429, retryAfterSeconds: 1 })
  for (const verdict of await Promise.all(waiting)) assert.equal(verdict.kind, 'signed')
  assert.equal((await narrow.verify(found)).kind, 'signed')
})
