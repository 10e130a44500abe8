import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { x402Client } from '@x402/core/client'
import { x402Facilitator } from '@x402/core/facilitator'
import type { PaymentRequirements } from '@x402/core/types'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as ClientScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as FacilitatorScheme } from '@x402/evm/exact/facilitator'
import { devClient } from '../../../control/launch/chain/deploy.ts'
import { startChain, type TestChain } from '../../support/chain.ts'

let chain: TestChain

before(async () => {
  chain = await startChain()
})
after(() => chain.stop())

function facilitator(): x402Facilitator {
  const client = devClient(chain.rpcUrl, chain.relayer)
  const signer = toFacilitatorEvmSigner({ ...client, address: chain.relayer.address } as never)
  return new x402Facilitator().register(`eip155:${chain.chainId}`, new FacilitatorScheme(signer))
}

async function pay(requirements: PaymentRequirements): Promise<void> {
  const payer = await chain.newPayer()
  const client = new x402Client().register('eip155:*', new ClientScheme(payer as never)).setSpendControls(false)
  const payload = await client.createPaymentPayload({
    x402Version: 2,
    resource: { url: 'http://127.0.0.1/x402/v1/chat/completions' },
    accepts: [requirements],
  })
  const settled = await facilitator().settle(payload, requirements)
  assert.equal(settled.success, true, JSON.stringify(settled))
  assert.equal(settled.payer?.toLowerCase(), payer.address.toLowerCase())
}

const common = { scheme: 'exact', network: 'eip155:31337', maxTimeoutSeconds: 120 } as const

test('the reference facilitator settles an EIP-3009 payment on the development chain', async () => {
  const before = await chain.balanceOf('stablecoin', chain.treasury.address)
  await pay({
    ...common,
    amount: '4200',
    asset: chain.contracts.stablecoin,
    payTo: chain.treasury.address,
    extra: { name: 'USD Coin', version: '2' },
  })
  assert.equal(await chain.balanceOf('stablecoin', chain.treasury.address), before + 4_200n)
})

test('the reference facilitator settles a Permit2 payment on the development chain', async () => {
  const before = await chain.balanceOf('coin', chain.treasury.address)
  await pay({
    ...common,
    amount: '4200000000000000',
    asset: chain.contracts.coin,
    payTo: chain.treasury.address,
    extra: { name: 'Demo Coin', version: '1', assetTransferMethod: 'permit2' },
  })
  assert.equal(await chain.balanceOf('coin', chain.treasury.address), before + 4_200_000_000_000_000n)
})
