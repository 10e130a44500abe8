// node:test follows every promise of its process, to know which suite a test belongs to that is declared after a wait, and
// which test an error belongs to that nobody has caught. That takes a fifth of the time of a lane, which needs it only while it
// loads a file. This module has to be loaded before node:test.
import asyncHooks, { type AsyncHook } from 'node:async_hooks'

const { createHook } = asyncHooks
const hooks: AsyncHook[] = []

asyncHooks.createHook = (callbacks) => {
  const hook = createHook(callbacks)
  if (new Error().stack?.includes('node:internal/test_runner/') === true) hooks.push(hook)
  return hook
}

/** Has promises followed from here on, or no more. A suite and its tests are to be declared while they are. */
export function track(isTracked: boolean): void {
  for (const hook of hooks) isTracked ? hook.enable() : hook.disable()
}
