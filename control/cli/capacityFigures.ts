// Written by scripts/docs/capacity.mjs from bench/results/last.json.
import type { CapacityFigures } from './capacityPlan.ts'

export const CAPACITY_FIGURES: CapacityFigures = {
  at: '2026-11-23',
  cpu: 'Intel(R) Xeon(R) Processor',
  requestMicros: {
    hot: { proxy: 64.6885, redis: 10.0707, control: 25.8474, postgres: 34.5684 },
    cold: { proxy: 350.6251, redis: 188.7305, control: 399.6101, postgres: 304.2408 },
  },
  chunkMicros: 17.1518,
  workerStreamsMax: 2_000,
  workerBytes: 429_387_776,
  walBytesPerReceipt: 1_146,
}
