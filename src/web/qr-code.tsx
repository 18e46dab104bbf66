// A text as a QR code, dark on light in both colour schemes, because cameras expect that.

import encodeQR from 'qr';

const quiet = 4;

export const QrCode = ({ text, label }: { readonly text: string; readonly label: string }) => {
  const rows = encodeQR(text, 'raw', { border: quiet });
  const size = rows.length;
  const path = rows
    .flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('');
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
};
