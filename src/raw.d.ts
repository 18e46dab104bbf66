// Files that are imported as text with `?raw`: what browsers are sent.

declare module '*?raw' {
  const text: string;
  export default text;
}
