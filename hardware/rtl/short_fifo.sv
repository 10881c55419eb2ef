// First in, first out, for a few words: they lie in LUT RAM and are read where they lie. Only the addresses change when a
// word is taken, so that no late signal has to reach all bits of a wide word.
module short_fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16  // a power of two
) (
    output logic [$clog2(DEPTH):0] held,  // words inside
    `include "stream_ports.svh"
);
  localparam int A = $clog2(DEPTH);
  logic [WIDTH-1:0] words[DEPTH];
  logic [A-1:0] head, tail;
  logic push, pop;

  assign in_ready = held != (A + 1)'(DEPTH);
  assign push = in_valid && in_ready;
  assign pop = out_valid && out_ready;
  assign out_data = words[head];

  always_ff @(posedge clk) if (push) words[tail] <= in_data;

  always_ff @(posedge clk) begin
    if (rst) begin
      head <= '0;
      tail <= '0;
      held <= '0;
      out_valid <= 1'b0;
    end else begin
      tail <= tail + A'(push);
      head <= head + A'(pop);
      held <= held + (A + 1)'(push) - (A + 1)'(pop);
      out_valid <= push || held > (A + 1)'(pop);
    end
  end

`ifdef FORMAL
  `include "short_fifo_props.svh"
`endif
endmodule
