import { useEffect, useState } from "react";

/** The value once it has not changed for so many milliseconds: what is typed, when the typing rests. */
export function useRested(value: string, milliseconds: number): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}
