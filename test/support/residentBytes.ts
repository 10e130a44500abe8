import type { Stack } from './stack.ts'

/** The memory of the workers of a stack, resident, in bytes. */
export async function residentBytes(stack: Stack): Promise<number> {
  const metrics = await (await fetch(stack.metricsUrl)).text()
  return Number(/^sluice_resident_bytes (\d+)/m.exec(metrics)?.[1])
}
