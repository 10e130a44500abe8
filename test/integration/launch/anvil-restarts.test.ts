// Goal: a development chain that keeps its state is one chain over any number of restarts. Method: a node that is stopped or killed and
// started again; its genesis block, a deployed contract, a balance and its clock are compared.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseEther } from 'viem'
import { startAnvil } from '../../../control/launch/chain/anvil.ts'
import { devAccount, devClient } from '../../../control/launch/chain/deploy.ts'
import { limits } from '../../support/limits.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const STARTS = 4
const STRANGER = '0x00000000000000000000000000000000000000aa'

test('the chain of several starts has one genesis block, all transactions and the present time', async (t) => {
  const dir = makeTempDir('chain')
  t.after(() => removeTempDir(dir))
  const genesis = new Set<string>()
  for (let start = 1; start <= STARTS; start++) {
    const node = await startAnvil({ dir, logFile: join(dir, 'anvil.log'), keepState: true, limits })
    t.after(() => node.process.kill9())
    const client = devClient(node.rpcUrl)
    genesis.add((await client.getBlock({ blockNumber: 0n })).hash ?? '')
    genesis.add((await client.getBlock({ blockTag: 'earliest' })).hash ?? '')
    assert.equal(genesis.size, 1, `start ${start}`)
    const account = devAccount(0)
    const hash = await client.sendTransaction({ account, chain: null, to: STRANGER, value: parseEther('1') })
    const receipt = await client.waitForTransactionReceipt({ hash })
    assert.equal(await client.getBalance({ address: STRANGER }), parseEther(String(start)))
    assert.equal(await client.getTransactionCount({ address: account.address }), start)
    const { timestamp } = await client.getBlock({ blockNumber: receipt.blockNumber })
    assert.ok(Math.abs(Number(timestamp) - Date.now() / 1_000) < 60, `start ${start}: the chain has the present time`)
    await node.process.stop()
  }
})
