// Writes to a file as fast as it can, from the beginning again when it is full: node diskWriter.js FILE. Ends with its parent.
import { openSync, writeSync } from 'node:fs'

const BLOCK_BYTES = 1_048_576
const FILE_BYTES = 1_073_741_824
/** Blocks between two checks that the parent process is alive. */
const BLOCKS_AT_ONCE = 16

const file = openSync(process.argv[2] ?? '', 'w')
const block = Buffer.alloc(BLOCK_BYTES, 0x5a)
let at = 0

function writeSome(): void {
  for (let i = 0; i < BLOCKS_AT_ONCE; i++) {
    writeSync(file, block, 0, BLOCK_BYTES, at)
    at = (at + BLOCK_BYTES) % FILE_BYTES
  }
  setImmediate(writeSome)
}

process.on('disconnect', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))
process.send?.({ ready: {} })
writeSome()
