// A text as a QR code, dark on light in both colour schemes, because cameras expect that.

import encodeQR from 'qr';

const quiet = 4;

export const QrCode = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const rows = encodeQR(text, 'raw', { border: quiet });
  const size = rows.length;
  const path = rows.map(pathOfRow).join('');
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
};

/** One rectangle for dark modules in a row. */
function pathOfRow(row: readonly boolean[], y: number): string {
  const bits = row.map((dark) => (dark ? '1' : '0')).join('');
  return [...bits.matchAll(/1+/g)]
    .map(({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`)
    .join('');
}
