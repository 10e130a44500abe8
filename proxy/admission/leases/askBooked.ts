import type { RpcClient } from '../../bus/rpcClient.ts'

/**
 * Asks control how far the endings of a proxy process are booked, by shard.
 * @param ended the process is gone, and another one asks for it
 * @throws while control does not know or does not answer
 */
export async function askBooked(
  rpc: Pick<RpcClient, 'call'>,
  owner: string,
  ended: boolean,
): Promise<ReadonlyMap<number, number>> {
  const { booked } = await rpc.call('ping', { observed: [], owner, ended })
  return new Map(booked.map(({ shard, seq }) => [shard ?? 0, seq ?? 0]))
}
