import type { Hex } from 'viem'
import { encodeFunctionData, parseAbi } from 'viem'
import { PERMIT2_ADDRESS } from '../../../contract/payments/addresses.ts'
import { fromBase64UrlJson } from '../../../contract/payments/encoding.ts'
import type { Challenge } from '../../../contract/payments/mpp.ts'
import { challengeHash, EIP3009_TYPES, MPP_PERMIT2_TYPES } from '../../../contract/payments/typedData.ts'
import type { Payer, TestChain } from '../chain.ts'

interface ChargeRequest {
  readonly amount: string
  readonly currency: Hex
  readonly recipient: Hex
  readonly methodDetails: { chainId: number; credentialTypes: string[]; spender?: Hex }
}

/** What a challenge asks for. */
export function requestOf(challenge: Challenge): ChargeRequest {
  return fromBase64UrlJson(challenge.request, 100_000) as unknown as ChargeRequest
}

/** The value of Authorization for a payload that answers a challenge. */
export function credential(challenge: Challenge, payload: unknown, payer: Payer, changes: object = {}): string {
  const source = `did:pkh:eip155:${requestOf(challenge).methodDetails.chainId}:${payer.address}`
  return `Payment ${Buffer.from(JSON.stringify({ challenge, payload, source, ...changes })).toString('base64url')}`
}

/** EIP-3009, as mppx signs it. */
export async function authorization(
  challenge: Challenge,
  payer: Payer,
  changes: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const { amount, currency, recipient, methodDetails } = requestOf(challenge)
  const message = {
    from: payer.address,
    to: recipient,
    value: BigInt(amount),
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.parse(challenge.expires) / 1_000)),
    nonce: challengeHash(challenge.id, challenge.realm),
    ...changes,
  }
  const signature = await payer.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: methodDetails.chainId, verifyingContract: currency },
    types: EIP3009_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const { from, to, value, validAfter, validBefore, nonce } = message
  const [values, after, before] = [value, validAfter, validBefore].map(String)
  return { type: 'authorization', from, to, value: values, validAfter: after, validBefore: before, nonce, signature }
}

/** Permit2 with the witness of MPP. */
export async function permit2(challenge: Challenge, payer: Payer, nonce: bigint): Promise<Record<string, unknown>> {
  const { amount, currency, recipient, methodDetails } = requestOf(challenge)
  const deadline = BigInt(Math.floor(Date.parse(challenge.expires) / 1_000))
  const witness = { challengeHash: challengeHash(challenge.id, challenge.realm), externalId: '' }
  const permitted = { token: currency, amount: BigInt(amount) }
  const signature = await payer.signTypedData({
    domain: { name: 'Permit2', chainId: methodDetails.chainId, verifyingContract: PERMIT2_ADDRESS },
    types: MPP_PERMIT2_TYPES,
    primaryType: 'PermitWitnessTransferFrom',
    message: { permitted, spender: methodDetails.spender ?? '0x', nonce, deadline, witness },
  })
  const permit = { permitted: [{ token: currency, amount }], nonce: String(nonce), deadline: String(deadline) }
  const transferDetails = [{ to: recipient, requestedAmount: amount }]
  return { type: 'permit2', permit, transferDetails, witness, signature }
}

/** A transaction of the payer's own that makes the transfer, signed and not sent. */
export async function signedTransfer(chain: TestChain, challenge: Challenge, payer: Payer): Promise<Hex> {
  const { amount, currency, recipient } = requestOf(challenge)
  const abi = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])
  return payer.signTransaction({
    type: 'eip1559',
    chainId: chain.chainId,
    nonce: await chain.client.getTransactionCount({ address: payer.address }),
    to: currency,
    data: encodeFunctionData({ abi, args: [recipient, BigInt(amount)] }),
    gas: 100_000n,
    maxFeePerGas: 5_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  })
}
