// First in, first out. The word at the front is in a register; the others lie in block RAM or LUT RAM.
module fifo #(
    parameter int WIDTH = 8,
    parameter int DEPTH = 16  // a power of two
) (
    output logic [$clog2(DEPTH)+1:0] held,  // words inside, the one at the output included
    `include "stream_ports.svh"
);
  localparam int A = $clog2(DEPTH);
  logic [WIDTH-1:0] words[DEPTH];
  logic [A-1:0] head, tail;
  logic [A:0] count;  // words in memory
  logic push, load;

  assign in_ready = count != (A + 1)'(DEPTH);
  assign push = in_valid && in_ready;
  assign load = count != 0 && (!out_valid || out_ready);
  assign held = (A + 2)'(count) + (A + 2)'(out_valid);

  always_ff @(posedge clk) begin
    if (push) words[tail] <= in_data;
    if (load) out_data <= words[head];
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      head <= '0;
      tail <= '0;
      count <= '0;
      out_valid <= 1'b0;
    end else begin
      tail <= tail + A'(push);
      head <= head + A'(load);
      count <= count + (A + 1)'(push) - (A + 1)'(load);
      out_valid <= load || (out_valid && !out_ready);
    end
  end

`ifdef FORMAL
  `include "fifo_props.svh"
`endif
endmodule
