// Compiles the contracts of the development chain again: node scripts/contracts.mjs
// Their byte code is kept in the repository (control/launch/chain/contracts.json), so that starting a chain needs no
// compiler. Compilers and the sources of Permit2 are installed into a temporary folder from npm.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const chainDir = join(dirname(fileURLToPath(import.meta.url)), '../control/launch/chain')
const sourcesDir = join(chainDir, 'contracts')
const PACKAGES = ['solc@0.8.37', 'solc-permit2@npm:solc@0.8.17', '@uniswap/v4-periphery@1.0.3']
const SOLMATE = ['tokens/ERC20.sol', 'utils/SafeTransferLib.sol']
const CONTRACTS = ['Coin', 'Stablecoin', 'ExactPermit2Proxy', 'IdentityRegistry', 'Wallet']

function compile(solc, input) {
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error')
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'))
  return output.contracts
}

function compileOwn(solc) {
  const sources = {}
  for (const file of readdirSync(sourcesDir)) sources[file] = { content: readFileSync(join(sourcesDir, file), 'utf8') }
  const contracts = compile(solc, {
    language: 'Solidity',
    sources,
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'paris',
      metadata: { bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  })
  const result = {}
  for (const named of Object.values(contracts)) {
    for (const [name, { evm }] of Object.entries(named)) {
      if (!CONTRACTS.includes(name)) continue
      // The proxy is not deployed but put in its place, so what counts is the code that runs.
      result[name] = `0x${name === 'ExactPermit2Proxy' ? evm.deployedBytecode.object : evm.bytecode.object}`
    }
  }
  return result
}

/**
 * The init code of the canonical Permit2, byte for byte. The optimizer's output depends on the set of sources, so all
 * that the deployed contract was compiled with are given.
 */
function compilePermit2(solc, root) {
  const own = readdirSync(join(root, 'src'), { recursive: true }).filter((file) => file.endsWith('.sol'))
  const paths = [...own.map((file) => `src/${file}`), ...SOLMATE.map((file) => `lib/solmate/src/${file}`)]
  const sources = Object.fromEntries(paths.map((path) => [path, { content: readFileSync(join(root, path), 'utf8') }]))
  const contracts = compile(solc, {
    language: 'Solidity',
    sources,
    settings: {
      viaIR: true,
      optimizer: { enabled: true, runs: 1_000_000 },
      evmVersion: 'london',
      metadata: { bytecodeHash: 'none' },
      remappings: ['solmate/=lib/solmate/'],
      outputSelection: { 'src/Permit2.sol': { Permit2: ['evm.bytecode.object'] } },
    },
  })
  return `0x${contracts['src/Permit2.sol'].Permit2.evm.bytecode.object}`
}

const dir = mkdtempSync(join(tmpdir(), 'sluice-contracts-'))
try {
  writeFileSync(join(dir, 'package.json'), '{"private":true}')
  const install = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...PACKAGES], {
    cwd: dir,
    stdio: 'inherit',
  })
  if (install.status !== 0) throw new Error('the compilers could not be installed')
  const require = createRequire(join(dir, 'package.json'))
  const own = compileOwn(require('solc'))
  const permit2 = compilePermit2(require('solc-permit2'), join(dir, 'node_modules/@uniswap/v4-periphery/lib/permit2'))
  writeFileSync(join(chainDir, 'contracts.json'), `${JSON.stringify({ ...own, Permit2: permit2 }, null, 2)}\n`)
} finally {
  rmSync(dir, { recursive: true, force: true })
}
