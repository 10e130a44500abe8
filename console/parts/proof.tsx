import { useState } from 'preact/hooks'
import type { Report } from '../../verifier/verify.ts'
import type { ApiError } from '../api/apiError.ts'
import { altered, type Proof, readProof, verifyProof } from '../proof/proof.ts'
import { asApiError } from '../state/resource.ts'
import { Card } from './pieces.tsx'
import { Failure } from './states.tsx'

interface Checked {
  readonly proof: Proof
  readonly report: Report
  readonly isAltered: boolean
}

/** Verifies a receipt in the browser, and shows that a changed one is refused. */
export function ProofCard({ id }: { readonly id: string }) {
  const [checked, setChecked] = useState<Checked>()
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const run = async (make: () => Promise<Proof>, isAltered: boolean) => {
    setBusy(true)
    setError(undefined)
    try {
      const proof = await make()
      setChecked({ proof, report: await verifyProof(proof), isAltered })
    } catch (failure) {
      setError(asApiError(failure))
    } finally {
      setBusy(false)
    }
  }
  const check = () => run(() => readProof(id), false)
  const checkAltered = async () => {
    await run(async () => altered(await readProof(id)), true)
  }
  return (
    <Card title="Proof">
      <p class="muted">
        The verifier runs in this page. It recomputes the charge from the price sheet, follows the receipt through its
        usage log to the signed checkpoint, and checks the signature.
      </p>
      <div class="bar-group actions">
        <button type="button" disabled={isBusy} onClick={check}>
          Verify the proof
        </button>
        <button type="button" class="quiet" disabled={isBusy} onClick={checkAltered}>
          Change one byte and verify
        </button>
      </div>
      <div aria-live="polite">
        {error !== undefined && <Failure error={error} />}
        {checked !== undefined && <Outcome checked={checked} />}
      </div>
    </Card>
  )
}

function Outcome({ checked: { proof, report, isAltered } }: { readonly checked: Checked }) {
  return (
    <>
      <p class={report.ok ? 'verdict good' : 'verdict bad'}>
        {report.ok ? 'The proof holds.' : 'The proof does not hold.'}
        {isAltered && <span> One digit of the charge was changed before: {proof.note}.</span>}
      </p>
      <ol class="steps">
        {report.steps.map(({ name, result, reason }, place) => (
          <li key={`${name} ${place}`} class={result}>
            <span class="step-name">{name}</span>
            <span class="step-result">{result}</span>
            <span class="muted">{reason}</span>
          </li>
        ))}
      </ol>
    </>
  )
}
