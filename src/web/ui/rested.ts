import { useEffect, useState } from "react";

/** The value once it has not changed for this many milliseconds. Used to wait for a pause in typing. */
export function useRested(value: string, milliseconds: number): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value]);
  return rested;
}
