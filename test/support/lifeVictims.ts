import type { LifeWorld } from './lifeWorld.ts'
import { itemOf, present } from './present.ts'
import { childrenOf } from './workload.ts'

/** A part of the installation that is killed, and brought back. */
export interface Victim {
  readonly name: string
  /** The process that serves the request ends with it. */
  readonly servesRequests: boolean
  kill(world: LifeWorld): Promise<void>
  bringBack(world: LifeWorld): Promise<void>
}

export const WORKER: Victim = {
  name: 'the worker',
  servesRequests: true,
  kill: async ({ stack }) => {
    process.kill(itemOf(stack.workerPids, 0), 'SIGKILL')
  },
  bringBack: async () => undefined,
}

export const PROXY: Victim = {
  name: 'the whole proxy',
  servesRequests: true,
  kill: async ({ stack }) => {
    const pid = present(stack.proxy.pid)
    // Else it would start another worker in the place of the one that is killed first.
    process.kill(pid, 'SIGSTOP')
    for (const worker of childrenOf(pid)) process.kill(worker, 'SIGKILL')
    await stack.proxy.kill9()
  },
  bringBack: ({ stack }) => stack.proxy.start(),
}

export const CONTROL: Victim = {
  name: 'control',
  servesRequests: false,
  kill: ({ stack }) => stack.control.kill9(),
  bringBack: ({ stack }) => stack.control.start(),
}

export const REDIS: Victim = {
  name: 'Redis',
  servesRequests: false,
  kill: ({ stack }) => stack.redis.kill9(),
  bringBack: ({ stack }) => stack.redis.restart(),
}

export const POSTGRES: Victim = {
  name: 'PostgreSQL',
  servesRequests: false,
  kill: ({ stack }) => present(stack.postgres).kill9(),
  bringBack: ({ stack }) => present(stack.postgres).restart(),
}
