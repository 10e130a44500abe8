// Written by scripts/docs/capacity.mjs from bench/results/last.json.
import type { CapacityFigures } from './capacityPlan.ts'

export const CAPACITY_FIGURES: CapacityFigures = {
  at: '2026-11-28',
  cpu: 'AMD EPYC',
  requestMicros: {
    hot: { proxy: 42.4042, redis: 5.6, control: 16.4398, postgres: 20.4054 },
    cold: { proxy: 175.4753, redis: 93.6733, control: 119.3148, postgres: 143.2286 },
  },
  chunkMicros: 15.4037,
  workerStreamsMax: 2_000,
  workerBytes: 419_991_552,
  walBytesPerReceipt: 1_196,
}
