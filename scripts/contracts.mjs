// Compiles the contracts of contracts/: node scripts/contracts.mjs [--check | --permit2]
// Their byte code is kept in the repository (contracts/contracts.json), so that starting a chain needs no
// compiler. --check says whether it is that of the sources, and writes nothing; --permit2 makes that of Permit2 anew as well,
// whose compiler and sources are installed into a temporary folder from npm.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const sourcesDir = join(dirname(fileURLToPath(import.meta.url)), '../contracts')
const require = createRequire(import.meta.url)
const outputPath = join(sourcesDir, 'contracts.json')
const PERMIT2_PACKAGES = ['solc-permit2@npm:solc@0.8.17', '@uniswap/v4-periphery@1.0.3']
const SOLMATE = ['tokens/ERC20.sol', 'utils/SafeTransferLib.sol']
const CONTRACTS = [
  'Coin',
  'Stablecoin',
  'ExactPermit2Proxy',
  'IdentityRegistry',
  'SettlementAnchor',
  'ScoinVault',
  'RewardDistributor',
  'LockTokens',
  'Wallet',
]

/** The ERC-1155 of OpenZeppelin needs instructions of Cancun; all else runs on older chains as well. */
const CANCUN = ['LockTokens.sol']

/** @param readImport answers the text of a source that another one imports from a package */
function compile(solc, input, readImport) {
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport }))
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error')
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'))
  return output.contracts
}

function fromPackage(path) {
  try {
    return { contents: readFileSync(require.resolve(path), 'utf8') }
  } catch (error) {
    return { error: error.message }
  }
}

function compileOwn() {
  const files = readdirSync(sourcesDir).filter((file) => file.endsWith('.sol'))
  const compiled = new Map([
    ...compileFor(
      'paris',
      files.filter((file) => !CANCUN.includes(file)),
    ),
    ...compileFor('cancun', CANCUN),
  ])
  return Object.fromEntries(CONTRACTS.map((name) => [name, compiled.get(name)]))
}

function compileFor(evmVersion, files) {
  const sources = {}
  for (const file of files) sources[file] = { content: readFileSync(join(sourcesDir, file), 'utf8') }
  const input = {
    language: 'Solidity',
    sources,
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion,
      metadata: { bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  }
  const compiled = new Map()
  for (const named of Object.values(compile(require('solc'), input, fromPackage))) {
    for (const [name, { evm }] of Object.entries(named)) {
      // The proxy is not deployed but put in its place, so what counts is the code that runs.
      compiled.set(name, `0x${name === 'ExactPermit2Proxy' ? evm.deployedBytecode.object : evm.bytecode.object}`)
    }
  }
  return compiled
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

function makePermit2() {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-contracts-'))
  try {
    writeFileSync(join(dir, 'package.json'), '{"private":true}')
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...PERMIT2_PACKAGES]
    const install = spawnSync('npm', args, { cwd: dir, stdio: 'inherit' })
    if (install.status !== 0) throw new Error('the compiler of Permit2 could not be installed')
    const solc = createRequire(join(dir, 'package.json'))('solc-permit2')
    return compilePermit2(solc, join(dir, 'node_modules/@uniswap/v4-periphery/lib/permit2'))
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const kept = readFileSync(outputPath, 'utf8')
const Permit2 = process.argv.includes('--permit2') ? makePermit2() : JSON.parse(kept).Permit2
const made = `${JSON.stringify({ ...compileOwn(), Permit2 }, null, 2)}\n`
if (!process.argv.includes('--check')) writeFileSync(outputPath, made)
else if (made !== kept) {
  console.error('contracts.json is not what the sources compile to: run node scripts/contracts.mjs')
  process.exit(1)
}
