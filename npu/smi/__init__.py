"""What the device tool prints, character by character: a snapshot goes in, text comes out. Reads no clock, file or device."""
