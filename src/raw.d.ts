// Files that are imported as text with `?raw`: what browsers are sent, and migrations.

declare module '*?raw' {
  const text: string;
  export default text;
}
