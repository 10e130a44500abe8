// Pays for one chat request on the running `make run`, as any agent with a wallet can: no account, no key. The client of
// x402 asks, gets the price (402), signs a transfer of it and sends the request again with the signature.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { x402Client } from '@x402/core/client'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import { createPublicClient, formatUnits, http, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

const REFUND_WAIT_MS = 30_000
const ASK_AGAIN_MS = 200

const demo = readDemo()
const wallet = privateKeyToAccount(demo.payer.private_key)
const chain = createPublicClient({ transport: http(demo.chain_rpc_url) })
const url = `${demo.base_url}/x402/v1/chat/completions`
const request = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: demo.models[0], max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }),
}

const asked = await fetch(url, request)
await asked.arrayBuffer()
const quote = decodePaymentRequiredHeader(asked.headers.get('payment-required') ?? '')
const [offer] = quote.accepts
const decimals = 6
const tokens = (amount) => `${formatUnits(BigInt(amount), decimals)} ${offer.extra.name}`
const before = await balance()
console.log(`The price   ${asked.status}: ${tokens(offer.amount)} to ${offer.payTo} on ${offer.network}`)
console.log(`The wallet  ${wallet.address} has ${tokens(before)}`)

// The cap guards a wallet against a price that its owner did not expect.
const client = new x402Client().register('eip155:*', new ExactEvmScheme(wallet)).setSpendControls(false)
const answer = await wrapFetchWithPayment(fetch, client)(url, request)
const body = await answer.json()
if (!answer.ok) throw new Error(`${answer.status}: ${JSON.stringify(body)}`)
const { transaction } = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
console.log(`Paid        ${tokens(body.receipt.paid.amount)} in transaction ${transaction}`)
console.log(`The answer  ${JSON.stringify(body.choices[0].message.content)}`)
const { settlement_fee: fee } = body.receipt.paid
console.log(`The cost    ${body.receipt.cost.usd} USD and ${fee.usd} USD for the settlement; the rest goes back`)

const receipt = await refunded(body.id)
const { refund, credit } = receipt.paid
console.log(
  `Refunded    ${refund === null ? 'nothing' : `${tokens(refund.amount)} in transaction ${refund.transaction}`}`,
)
if (credit?.left.units > 0) console.log(`Credit      ${credit.left.usd} USD for the next request`)
console.log(`The wallet  has ${tokens(await balance())}`)
console.log(`The receipt ${demo.base_url}/x402/v1/receipts/${body.id}`)

function readDemo() {
  const path = join(process.env.SLUICE_DATA || '.sluice', 'demo.json')
  let known
  try {
    known = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw new Error(`${path} is not there: start the demo with \`make run\` first`)
  }
  if (known.payer === undefined) throw new Error('the running demo takes no payments; see what `make run` said')
  return known
}

function balance() {
  const abi = parseAbi(['function balanceOf(address account) view returns (uint256)'])
  return chain.readContract({ abi, address: offer.asset, functionName: 'balanceOf', args: [wallet.address] })
}

/** The public receipt, once what was not used has been sent back or kept as credit. */
async function refunded(id) {
  const deadlineMs = Date.now() + REFUND_WAIT_MS
  for (;;) {
    const response = await fetch(`${demo.base_url}/x402/v1/receipts/${id}`)
    const found = response.ok ? await response.json() : undefined
    const { refund, credit } = found?.paid ?? {}
    const isKept = refund === null && credit !== null
    if (isKept || refund?.transaction || Date.now() > deadlineMs) return found ?? body.receipt
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
  }
}
