import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { Client } from '../../runtime/db/pool.ts'
import { lockAccount } from './accountRow.ts'

/**
 * Refuses another item of a kind of which an account may have a limited number. The account's row is locked until the end of the transaction, so
 * that concurrent ones are counted one after the other.
 * @param count how many the account has
 * @throws GatewayError `refusal` where it has `max` already
 */
export async function refuseTooMany(
  client: Client,
  accountId: string,
  count: (client: Client, accountId: string) => Promise<number>,
  max: number,
  refusal: () => GatewayError,
): Promise<void> {
  await lockAccount(client, accountId)
  if ((await count(client, accountId)) >= max) throw refusal()
}
