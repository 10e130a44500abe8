import { GatewayError } from '../../../../contract/errors/errors.ts'
import { coinBoughtFor } from '../../../../contract/money/coin.ts'
import { formatUsd } from '../../../../contract/money/units.ts'
import { type Address, parseAddress } from '../../../../contract/payments/address.ts'
import { unitsOf } from '../../../../contract/payments/conversion.ts'
import { parseBytes, parseBytes32, parseUint256 } from '../../../../contract/payments/encoding.ts'
import type { Eip3009Payment } from '../../../../contract/payments/signedPayment.ts'
import type { PaymentAsset, PaymentTerms } from '../../../../contract/payments/terms.ts'
import type { PaymentsLimits } from '../limits.ts'

/** A deposit that a wallet has signed for; all but the signature and the chain has been checked. */
export interface DepositOrder {
  readonly asset: PaymentAsset
  readonly payment: Eip3009Payment
  /** The coin that it buys, in integers of 1e-9 coin, and the price of that coin. */
  readonly nanos: number
  readonly units: number
}

/** Refuses an authorization. @param field the invalid field */
export function refuseAuthorization(message: string, field?: string): GatewayError {
  const options = { message: `${message} Nothing was taken.` }
  return new GatewayError('authorization_invalid', field === undefined ? options : { ...options, param: field })
}

/**
 * Reads the authorization of a gasless deposit: the `payload` of x402 `exact` over EIP-3009.
 * @param body {authorization, signature}; its schema has checked that the members are strings
 * @param coinUsdUnits units in one coin, by which coin is credited
 * @throws GatewayError authorization_invalid, invalid_address, below_minimum
 */
export function readDeposit(
  body: Readonly<Record<string, unknown>>,
  terms: PaymentTerms,
  depositMinUnits: number,
  coinUsdUnits: number,
  limits: PaymentsLimits,
): DepositOrder {
  const asset = terms.assets.find(({ method }) => method === 'eip3009')
  if (asset === undefined) {
    throw refuseAuthorization('This gateway takes no token that moves by an authorization; send coin from the wallet.')
  }
  const fields = body['authorization'] as Readonly<Record<string, unknown>>
  const address = (name: string): Address => {
    const parsed = parseAddress(fields[name])
    if (parsed === undefined) throw new GatewayError('invalid_address', { param: `authorization.${name}` })
    return parsed
  }
  const number = (name: string): bigint => known(parseUint256(fields[name]), name, 'a decimal integer')
  const payment: Eip3009Payment = {
    method: 'eip3009',
    chainId: terms.chainId,
    token: asset.address,
    name: asset.name,
    version: asset.version,
    from: address('from'),
    to: address('to'),
    value: number('value'),
    validAfter: number('validAfter'),
    validBefore: number('validBefore'),
    nonce: known(parseBytes32(fields['nonce']), 'nonce', '32 bytes in hex'),
    signature: known(parseBytes(body['signature'], limits.depositSignatureBytesMax), 'signature', 'hex bytes'),
  }
  if (payment.to !== terms.payTo) {
    throw refuseAuthorization(`Sign for a transfer to ${terms.payTo}.`, 'authorization.to')
  }
  checkWindow(payment, Math.floor(Date.now() / 1_000), limits)
  return { asset, payment, ...creditOf(payment.value, asset, depositMinUnits, coinUsdUnits) }
}

function known<T>(value: T | undefined, name: string, form: string): T {
  if (value !== undefined) return value
  const field = name === 'signature' ? name : `authorization.${name}`
  throw refuseAuthorization(`${field} must be ${form}.`, field)
}

function checkWindow({ validAfter, validBefore }: Eip3009Payment, nowSeconds: number, limits: PaymentsLimits): void {
  if (validAfter >= BigInt(nowSeconds)) {
    throw refuseAuthorization(
      'The authorization is not valid yet; sign one with validAfter 0.',
      'authorization.validAfter',
    )
  }
  const least = Math.ceil(limits.depositWindowMinMs / 1_000)
  if (validBefore < BigInt(nowSeconds + least)) {
    const message = `The authorization ends too early; let validBefore be at least ${least} seconds from now.`
    throw refuseAuthorization(message, 'authorization.validBefore')
  }
}

function creditOf(
  value: bigint,
  asset: PaymentAsset,
  depositMinUnits: number,
  coinUsdUnits: number,
): { nanos: number; units: number } {
  let units: number
  let nanos: number
  try {
    units = unitsOf(value, asset.decimals, asset.usdUnits)
    nanos = coinBoughtFor(units, coinUsdUnits)
  } catch {
    throw refuseAuthorization('The amount is more than an account can hold.', 'authorization.value')
  }
  if (nanos > 0 && units >= depositMinUnits) return { nanos, units }
  const message = `A deposit is at least ${formatUsd(depositMinUnits)} USD. Nothing was taken.`
  throw new GatewayError('below_minimum', { message, param: 'authorization.value' })
}
