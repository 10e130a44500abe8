import { useEffect, useState } from 'preact/hooks'
import { type Announced, onWallet } from '../wallet/provider.ts'

interface ButtonsProps {
  /** The text before the name of each wallet. */
  readonly action: string
  readonly isBusy: boolean
  readonly onPick: (wallet: Announced) => void
}

/** A button for each wallet of this browser (EIP-6963). */
export function WalletButtons({ action, isBusy, onPick }: ButtonsProps) {
  const [wallets, setWallets] = useState<readonly Announced[]>([])
  useEffect(
    () =>
      onWallet((found) =>
        setWallets((before) => [...before.filter(({ info }) => info.uuid !== found.info.uuid), found]),
      ),
    [],
  )
  if (wallets.length === 0) {
    return <p>No wallet was found in this browser. A wallet's extension announces itself here when it is installed.</p>
  }
  return (
    <ul class="wallets">
      {wallets.map((wallet) => (
        <li key={wallet.info.uuid}>
          <button type="button" class="quiet wide" disabled={isBusy} onClick={() => onPick(wallet)}>
            {action} {wallet.info.name}
          </button>
        </li>
      ))}
    </ul>
  )
}
