import { parseTime } from '../../../../contract/api/time.ts'
import { GatewayError, invalidRequest } from '../../../../contract/errors/errors.ts'
import { formatUsd } from '../../../../contract/money/units.ts'
import { isId } from '../../../../contract/wire/ids.ts'
import type { Debits } from '../../../admission/debits/debit.ts'
import type { ApiCall, ReadHandler, WriteHandler } from '../../../api/call.ts'
import { listJson, pageOf } from '../../../api/lists.ts'
import { refuseTooMany } from '../../../book/ledger/refuseTooMany.ts'
import {
  type CoinAmount,
  coinAmount,
  coinAmountJson,
  coinPrice,
  readAnyCoin,
} from '../../../catalog/pricing/coinAmounts.ts'
import type { Pool } from '../../../runtime/db/pool.ts'
import type { TransfersLimits } from '../limits.ts'
import { cancelLink, claimLink, countOpenLinks, createLink, type Link, pageOfLinks } from './links.ts'

type LinkOperation = 'list_links' | 'create_link' | 'claim_link' | 'cancel_link'

export interface LinkParts {
  readonly pool: Pool
  readonly debits: Debits
  /** Applies bookings for these accounts to the admission state. */
  readonly applyToAdmission: (accountIds: readonly string[]) => Promise<unknown>
  readonly limits: TransfersLimits
}

/** The endpoints of links. */
export function linkHandlers(parts: LinkParts): Record<LinkOperation, ReadHandler | WriteHandler<unknown>> {
  const { pool, debits, applyToAdmission } = parts
  return {
    list_links: {
      read: async (call) => {
        const { limit, after } = pageOf(call, parts.limits)
        const price = await coinPrice(pool)
        const links = await pageOfLinks(pool, call.accountId, limit + 1, after)
        return {
          json: listJson(
            links.map((link) => linkJson(link, price)),
            limit,
          ),
        }
      },
    },
    create_link: {
      write: async (call, client, _prepared, transaction) => {
        const price = await coinPrice(client)
        const amount = readAmount(call, price, parts.limits)
        const expiresAtMs = readExpiry(call, parts.limits)
        const max = parts.limits.linksPerAccountMax
        const refusal = () => invalidRequest(`An account has at most ${max} open links; cancel one.`)
        await refuseTooMany(client, call.accountId, countOpenLinks, max, refusal)
        const note = (call.body['note'] as string | undefined) ?? ''
        const { accountId } = call
        const made = await createLink(transaction, debits, call.actor, { accountId, ...amount, note, expiresAtMs })
        const json = linkJson(made.link, price)
        return {
          status: 201,
          json: { ...json, token: made.token },
          repeatJson: { ...json, token: null },
          afterCommit: () => applyToAdmission([accountId]),
        }
      },
    },
    claim_link: {
      write: async ({ params, actor, accountId }, client) => {
        const link = await claimLink(client, actor, params['token'] ?? '', accountId)
        return {
          json: linkJson(link, await coinPrice(client)),
          afterCommit: () => applyToAdmission([accountId]),
        }
      },
    },
    cancel_link: {
      write: async ({ params, actor, accountId }, client) => {
        const id = params['id'] ?? ''
        if (!isId('lnk', id)) throw new GatewayError('link_not_found')
        const link = await cancelLink(client, actor, id, accountId)
        return {
          json: linkJson(link, await coinPrice(client)),
          afterCommit: () => applyToAdmission([accountId]),
        }
      },
    },
  }
}

/** A link as shown to its owner and its claimer: its coin, and the present worth of the coin. */
export function linkJson(link: Link, coinUsdUnits: number) {
  return {
    object: 'link' as const,
    id: link.id,
    status: link.status,
    amount: coinAmountJson(coinAmount(link.nanos, coinUsdUnits)),
    note: link.note,
    expires_at: new Date(link.expiresAtMs).toISOString(),
    created_at: new Date(link.createdAtMs).toISOString(),
    ended_at: link.endedAtMs === null ? null : new Date(link.endedAtMs).toISOString(),
  }
}

function readAmount({ body }: ApiCall, price: number, limits: TransfersLimits): CoinAmount {
  const amount = readAnyCoin(body['amount'], price)
  if (amount.units >= limits.linkUnitsMin) return amount
  const message = `A link holds at least ${formatUsd(limits.linkUnitsMin)} USD of coin.`
  throw new GatewayError('below_minimum', { message, param: 'amount' })
}

/** @returns milliseconds since 1970 */
function readExpiry({ body }: ApiCall, limits: TransfersLimits): number {
  const text = body['expires_at']
  const nowMs = Date.now()
  if (typeof text !== 'string') return nowMs + limits.linkLifetimeMs
  const ms = parseTime(text)
  if (ms !== undefined && ms > nowMs && ms <= nowMs + limits.linkLifetimeMaxMs) return ms
  const days = Math.floor(limits.linkLifetimeMaxMs / 86_400_000)
  throw invalidRequest(`expires_at must be a time to come, at most ${days} days from now.`, 'expires_at')
}
